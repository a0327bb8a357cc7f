/** What no document may cost (hard cases D1 to D6): bombs are refused at once, ordinary operations pass. */
import { getIntrospectionQuery, getNamedType, isInputObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { cheapestOfThree, onBusyMachine } from '../support/busy-machine.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';
import { hostileDocuments } from '../support/hostile-documents.ts';

const app = await startGraphqlApp();
const REFUSED_WITHIN_MS = 50;
/** What is let through does real work; it must not be far from that. */
const ANSWERED_WITHIN_MS = 200;

const nearlyHostile: [name: string, document: string][] = [
  ['the same field', `{ me { ... on User { ${'uid '.repeat(290)} } } }`],
  [
    'the same field with arguments',
    `{ ${'apiTokens(first: 1) { ... on ApiTokenConnection { nodes { uid } } } '.repeat(19)} }`,
  ],
  [
    'fragments that overlap',
    `{ me { ... on User { ${Array.from({ length: 30 }, (_, n) => `...f${n}`).join(' ')} } } } ${Array.from({ length: 30 }, (_, n) => `fragment f${n} on User { uid email firstName lastName customer { uid name status } }`).join(' ')}`,
  ],
];

/** A document that is new every time: known ones are not validated again. */
const costOf = (document: string): Promise<number> => cheapestOfThree((time) => app.run(`${document} # ${time}`));

test('there are forty of them', () => {
  expect(hostileDocuments.length).toBeGreaterThanOrEqual(40);
  expect(new Set(hostileDocuments.map(([, document]) => document)).size).toBe(hostileDocuments.length);
});

describe('hostile documents', () => {
  test.each(hostileDocuments)('%s is refused at once', async (_name, document) => {
    const { errors, status } = await app.run(document);
    expect(status).toBe(400);
    expect(errors.length).toBeGreaterThan(0);
    expect(await costOf(document)).toBeLessThan(onBusyMachine(REFUSED_WITHIN_MS));
  });

  test.each(nearlyHostile)('%s, just within the limits, is answered soon', async (_name, document) => {
    expect(await costOf(document)).toBeLessThan(onBusyMachine(ANSWERED_WITHIN_MS));
  });

  test('a page above the limit is refused when a variable says it', async () => {
    const query = 'query ($n: Int) { apiTokens(first: $n) { ... on ApiTokenConnection { nodes { uid } } } }';
    expect((await app.run(query, { n: 101 })).status).toBe(400);
    expect((await app.run(query, { n: 100 })).status).toBe(200);
    for (const n of [{ toString: '', valueOf: 1 }, [500], '101', 'x', true]) {
      const [error] = (await app.run(query, { n })).errors;
      expect(error?.extensions['code']).toMatch(/^(BAD_REQUEST|DOCUMENT_TOO_EXPENSIVE)$/);
    }
    expect(
      (await app.run('query ($n: Int = 101) { apiTokens(first: $n) { ... on ApiTokenConnection { nodes { uid } } } }'))
        .status,
    ).toBe(400);
  });

  test('names that nearly fit are not suggested', async () => {
    const { errors } = await app.run('{ me { ... on User { emai } } }', {}, null);
    expect(errors[0]?.message).not.toContain('Did you mean');
  });

  test('a batch of operations in one request is refused', async () => {
    const body = JSON.stringify([
      { query: '{ me { ... on User { uid } } }' },
      { query: '{ me { ... on User { uid } } }' },
    ]);
    const answer = await fetch(app.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(answer.status).toBe(400);
  });
});

test('ordinary operations pass, the explorer included', async () => {
  expect((await app.run(getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }))).errors).toEqual([]);
  expect(
    (
      await app.run(
        '{ me { ... on User { uid customer { name } } } apiTokens(first: 100) { ... on ApiTokenConnection { nodes { uid } pageInfo { hasNextPage } } } }',
      )
    ).errors,
  ).toEqual([]);
});

test('a mutation that checks a password or a code runs once per request, however it is aliased', () => {
  const mutations = Object.values(app.server.schema.getMutationType()?.getFields() ?? {});
  const guessing = mutations.filter(({ args }) =>
    args.some(({ type }) => {
      const input = getNamedType(type);
      return (
        isInputObjectType(input) && ['code', 'password', 'currentPassword'].some((name) => name in input.getFields())
      );
    }),
  );
  expect(guessing.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['logIn', 'confirmTwoFactor', 'changePassword']),
  );
  const unbounded = guessing.filter(({ extensions }) => {
    const options: unknown = extensions['pothosOptions'];
    return !(
      typeof options === 'object' &&
      options !== null &&
      'executionsMax' in options &&
      options.executionsMax === 1
    );
  });
  // An administrator who makes a customer sets a password; there is nothing to guess.
  expect(
    unbounded.map(({ name }) => name).filter((name) => !['createCustomer', 'updateCustomer'].includes(name)),
  ).toEqual([]);
});
