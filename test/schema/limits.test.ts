/** What no document may cost (hard cases D1 to D6): bombs are refused at once, ordinary operations pass. */
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, test } from 'vitest';
import { startGraphqlApp } from '../support/graphql-app.ts';

const app = await startGraphqlApp();
const REFUSED_WITHIN_MS = 50;

const nested = (levels: number) =>
  `{ __schema { types ${'{ fields { type '.repeat(levels)} { name } ${'} }'.repeat(levels)} } }`;
const deep = (levels: number) => `{ ${'me { customer '.repeat(levels)} { uid } ${'}'.repeat(levels)} }`;
const fragmentBomb = (count: number) => {
  const fragments = Array.from({ length: count }, (_, n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`);
  return `{ ...f0 } ${fragments.join(' ')} fragment f${count} on Query { me { uid } }`;
};
const aliases = (count: number) => `{ ${Array.from({ length: count }, (_, n) => `a${n}: me { uid }`).join(' ')} }`;

const hostile: [name: string, document: string][] = [
  ['nested introspection', nested(20)],
  [
    'circular introspection',
    `{ __schema { types { fields { type { fields { type { fields { type { fields { type { name } } } } } } } } } } }`,
  ],
  ['deep selections', deep(200)],
  ['very deep selections', deep(1_500)],
  ['a fragment bomb', fragmentBomb(25)],
  ['a long fragment bomb', fragmentBomb(45)],
  ['a circle of fragments', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'],
  ['too many fragments', fragmentBomb(300)],
  ['many aliases', aliases(300)],
  ['many root fields', `{ ${'me { uid } '.repeat(21)} }`],
  ['the same field again and again', `{ me { ${'uid '.repeat(3_000)} } }`],
  ['many directives', `{ me { uid ${'@skip(if: false) '.repeat(500)} } }`],
  ['directives on every field', `{ me { ${'uid @include(if: true) '.repeat(200)} } }`],
  ['many tokens', `{ me(${'a: 1 '.repeat(5_000)}) { uid } }`],
  ['a huge document', `{ me { uid } } # ${'x'.repeat(300_000)}`],
  ['a page above the limit', '{ apiTokens(first: 101) { nodes { uid } } }'],
  ['a page far above the limit', '{ apiTokens(first: 2147483647) { nodes { uid } } }'],
  ['the last rows above the limit', '{ apiTokens(last: 500) { nodes { uid } } }'],
  [
    'a costly product',
    `{ ${Array.from({ length: 20 }, (_, n) => `a${n}: apiTokens(first: 100) { edges { node { uid name kind createdAt scopes } } nodes { uid name } }`).join(' ')} }`,
  ],
  ['broken syntax', '{ me { uid '],
  ['an unknown field', '{ me { pasword } }'],
];

const nearlyHostile: [name: string, document: string][] = [
  ['the same field', `{ me { ${'uid '.repeat(290)} } }`],
  ['the same field with arguments', `{ ${'apiTokens(first: 1) { nodes { uid } } '.repeat(19)} }`],
  [
    'fragments that overlap',
    `{ me { ${Array.from({ length: 30 }, (_, n) => `...f${n}`).join(' ')} } } ${Array.from({ length: 30 }, (_, n) => `fragment f${n} on User { uid email firstName lastName customer { uid name status } }`).join(' ')}`,
  ],
];

/** Other programs share the machine: the fastest run tells what it costs. */
async function fastestOfThree(document: string): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < 3; time++) {
    const startedAt = performance.now();
    // A document that is new every time: known ones are not validated again.
    await app.run(`${document} # ${time}`);
    times.push(performance.now() - startedAt);
  }
  return Math.min(...times);
}

describe('hostile documents', () => {
  test.each(hostile)('%s is refused at once', async (_name, document) => {
    const { errors, status } = await app.run(document);
    expect(status).toBe(400);
    expect(errors.length).toBeGreaterThan(0);
    expect(await fastestOfThree(document)).toBeLessThan(REFUSED_WITHIN_MS);
  });

  test.each(nearlyHostile)('%s, just within the limits, is answered soon', async (_name, document) => {
    expect(await fastestOfThree(document)).toBeLessThan(REFUSED_WITHIN_MS);
  });

  test('a page above the limit is refused when a variable says it', async () => {
    const query = 'query ($n: Int) { apiTokens(first: $n) { nodes { uid } } }';
    expect((await app.run(query, { n: 101 })).status).toBe(400);
    expect((await app.run(query, { n: 100 })).status).toBe(200);
    expect((await app.run('query ($n: Int = 101) { apiTokens(first: $n) { nodes { uid } } }')).status).toBe(400);
  });

  test('names that nearly fit are not suggested', async () => {
    const { errors } = await app.run('{ me { emai } }', {}, null);
    expect(errors[0]?.message).not.toContain('Did you mean');
  });

  test('a batch of operations in one request is refused', async () => {
    const body = JSON.stringify([{ query: '{ me { uid } }' }, { query: '{ me { uid } }' }]);
    const answer = await fetch(app.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(answer.status).toBe(400);
  });
});

test('ordinary operations pass, the explorer included', async () => {
  expect((await app.run(getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }))).errors).toEqual([]);
  expect(
    (await app.run('{ me { uid customer { name } } apiTokens(first: 100) { nodes { uid } pageInfo { hasNextPage } } }'))
      .errors,
  ).toEqual([]);
});
