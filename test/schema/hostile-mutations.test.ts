/**
 * Every mutation with hostile values in every place of its arguments, over HTTP: never a defect, and what is refused
 * has a message and has changed nothing. Mutations and their arguments are read from the schema: a new one is covered
 * by being there. The twin of the walk over the REST rows.
 */
import { once } from 'node:events';
import { getNamedType, isEnumType, isInputObjectType, type GraphQLArgument, type GraphQLInputField } from 'graphql';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mutations, NEEDS_STATE, rightArguments, runMutation, type Values } from '../support/mutation-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';
import { changedSince, stateOf } from '../support/table-states.ts';

interface Place {
  readonly path: readonly string[];
  readonly type: string;
}

const MILLION = 'x'.repeat(1_000_000);
const texts: [string, unknown][] = [
  ['too long', MILLION],
  ['NUL', 'a\0b'],
  ['half a surrogate pair', 'a\ud800b'],
  ['line breaks', 'a\r\nBcc: evil@evil.example'],
  ['other line breaks', 'a\u0085b\u2028c\u2029d'],
  ['null', null],
  ['empty', ''],
  ['blank', ' \t '],
  ['SQL', "'; DROP TABLE customer; --"],
  ['markup', '<script>alert(1)</script>{{ "x" }}{% include "x" %}{EMAIL}'],
  ['broken Liquid', '{% if %}{{ | }}'],
  ['a number', 5],
  ['a list', ['x', 'y']],
  ['an object', { a: 1 }],
];
const hostile: Readonly<Record<string, readonly [string, unknown][]>> = {
  String: texts,
  Int: [
    ['negative', -1],
    ['zero', 0],
    ['the largest', 2_147_483_647],
    ['beyond 32 bits', 9_999_999_999],
    ['a fraction', 1.5],
    ['words', 'many'],
    ['null', null],
  ],
  Boolean: [
    ['words', 'maybe'],
    ['null', null],
    ['a number', 2],
  ],
  DateTime: [
    ['words', 'yesterday'],
    ['no such day', '2030-02-30T00:00:00Z'],
    ['long ago', '0001-01-01T00:00:00Z'],
    ['far away', '9999-12-31T23:59:59Z'],
    ['null', null],
    ['long', MILLION],
  ],
  BigInt: [
    ['beyond 64 bits', '99999999999999999999'],
    ['words', 'x'],
    ['null', null],
  ],
  JsonObject: [
    ['a text', 'x'],
    ['a list', []],
    ['deep', { a: { b: { c: { d: {} } } } }],
    ['NUL inside', { host: 'a\0b', FIRST_NAME: 'a\0b' }],
    ['NUL in a key', { 'a\0b': 'x' }],
    ['odd keys', JSON.parse('{"__proto__": {"x": 1}, "constructor": "x", "": "x"}')],
    ['long', { host: MILLION, FIRST_NAME: MILLION }],
    ['many keys', Object.fromEntries(Array.from({ length: 5_000 }, (_, no) => [`K${no}`, no]))],
    ['nested values', { host: { a: [1] }, FIRST_NAME: ['x'] }],
    ['null', null],
  ],
};

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
let smtp: World['smtp'] = {};

beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  smtp = { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' };
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

/** Tables in which a mutation writes down why it was refused. */
const KEEPS_REASON: Readonly<Record<string, string>> = { installPlugin: 'public.plugin_package' };

test('mutations with right values are taken, where they need no certain state', async () => {
  const refused: string[] = [];
  for (const mutation of mutations.filter(({ name }) => !NEEDS_STATE.has(name) && !/Import/.test(name))) {
    const world = await newWorld(app, smtp);
    const answer = await runMutation(app, mutation, { values: rightArguments(mutation, world), world });
    if (answer.isRefused) refused.push(`${mutation.name}: ${answer.text.slice(0, 300)}`);
  }
  expect(refused).toEqual([]);
});

describe.each(mutations.map((mutation) => ({ name: mutation.name, mutation })))('$name', ({ mutation }) => {
  test('takes what is right, and stands what is not', { timeout: 600_000 }, async () => {
    let world = await newWorld(app, smtp);
    const right = () => rightArguments(mutation, world);
    let before = await stateOf(app);
    for (const place of placesOf(mutation.args)) {
      for (const [what, value] of hostile[place.type] ?? []) {
        const said = `${place.path.join('.')}: ${what}`;
        const answer = await runMutation(app, mutation, { values: withValue(right(), place.path, value), world });
        expect(answer.text, said).not.toMatch(/INTERNAL_ERROR|Something went wrong/);
        expect(answer.status, said).toBeLessThan(500);
        expect(answer.text.length, `${said} ${answer.text.slice(0, 200)}`).toBeLessThan(200_000);
        if (answer.isRefused) {
          expect(answer.message, said).toMatch(/\w{3}/);
          continue;
        }
        expect(['NUL', 'half a surrogate pair', 'NUL inside', 'NUL in a key'], said).not.toContain(what);
        if (/^(delete|disable|logOut)|(ApiToken|Password)$/.test(mutation.name)) world = await newWorld(app, smtp);
        before = await stateOf(app);
      }
      expect(
        (await changedSince(app, before)).filter((table) => table !== KEEPS_REASON[mutation.name]),
        `${place.path.join('.')}: what was refused has changed something`,
      ).toEqual([]);
    }
  });
});

/** Marks a field that stands alone: its input takes exactly one. */
const ALONE = '=';

interface Within {
  readonly path: readonly string[];
  /** Types that were walked: one that comes twice, or holds itself, is walked once. */
  readonly types: Set<string>;
  readonly isOneOf: boolean;
}

function placesOf(
  inputs: readonly (GraphQLArgument | GraphQLInputField)[],
  { path, types, isOneOf }: Within = { path: [], types: new Set(), isOneOf: false },
): Place[] {
  return inputs.flatMap(({ name, type }): Place[] => {
    const named = getNamedType(type);
    const here = [...path, isOneOf ? ALONE + name : name];
    if (!isInputObjectType(named)) return [{ path: here, type: isEnumType(named) ? 'String' : named.name }];
    if (types.has(named.name)) return [];
    types.add(named.name);
    const inside = { path: here, types, isOneOf: named.isOneOf };
    return placesOf(Object.values(named.getFields()), inside);
  });
}

function withValue(given: Values, [first = '', ...rest]: readonly string[], value: unknown): Values {
  const isAlone = first.startsWith(ALONE);
  const head = isAlone ? first.slice(ALONE.length) : first;
  const values = isAlone ? {} : given;
  if (rest.length === 0) return { ...values, [head]: value };
  const inner = values[head];
  return { ...values, [head]: withValue(typeof inner === 'object' && inner !== null ? { ...inner } : {}, rest, value) };
}
