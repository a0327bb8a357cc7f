/** 5,000 answers to nonsense tell nothing of the inside (hard case D5): no stack, no SQL, no path, and no defect. */
import { fc, SEED } from '../support/property.ts';
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  type GraphQLField,
  type GraphQLInputType,
} from 'graphql';
import { expect, test } from 'vitest';
import { startGraphqlApp } from '../support/graphql-app.ts';

const REQUESTS = 5_000;
const AT_ONCE = 8;

const app = await startGraphqlApp({ explorer: false });
const { schema } = app.server;

const LEAK =
  /\bat [\w.<>]+ \(|node_modules|\.ts:\d+|\/(src|work|home|tmp|usr)\/|\bSELECT\b.*\bFROM\b|INSERT INTO|syntax error at or near|relation "|Prisma|pg_catalog|ECONNREFUSED|Did you mean (?!\\"\w+ \{ \.\.\. \})|"stack"/;

const nasty = fc.oneof(
  fc.constantFrom(
    ...["'; SELECT pg_sleep(9) --", '\0', '\ud800', '{{7*7}}', '../../etc/passwd', '%00', '$1', 'NaN', '__proto__', ''],
    ...['9223372036854775808', '-1', '1e400', '2026-02-30', 'data:text/html,x', '<script>', 'x'.repeat(5_000)],
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.dictionary(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), { maxKeys: 3 }),
  fc.array(fc.integer(), { maxLength: 4 }),
);

/** A value that fits more or less: as its type wants it, with something nasty in one place or another. */
function valueOf(type: GraphQLInputType, depth = 0): fc.Arbitrary<unknown> {
  const named = getNamedType(type);
  if (isEnumType(named)) return fc.oneof(fc.constantFrom(...named.getValues().map(({ name }) => name)), nasty);
  if (!isInputObjectType(named) || depth > 3) return nasty;
  const fields = Object.values(named.getFields());
  return fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record(Object.fromEntries(fields.map((field) => [field.name, valueOf(field.type, depth + 1)])), {
        requiredKeys: [],
      }),
    },
    { weight: 1, arbitrary: nasty },
  );
}

interface Call {
  readonly query: string;
  readonly variables: Record<string, unknown>;
}

function callOf(kind: 'query' | 'mutation', field: GraphQLField<unknown, unknown>): fc.Arbitrary<Call> {
  const declared = field.args.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ');
  const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const selection = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
  const query = `${kind} ${declared ? `(${declared})` : ''} { ${field.name}${passed ? `(${passed})` : ''} ${selection} }`;
  const values = Object.fromEntries(field.args.map(({ name, type }) => [name, valueOf(type)]));
  return fc.record(values, { requiredKeys: [] }).map((variables) => ({ query, variables: { ...variables } }));
}

const fields = [
  ...Object.values(schema.getQueryType()?.getFields() ?? {}).map((field) => ['query', field] as const),
  ...Object.values(schema.getMutationType()?.getFields() ?? {}).map((field) => ['mutation', field] as const),
].filter(
  ([, { name }]) =>
    !['deleteCustomer', 'disableCustomer', 'setAdministrator', 'logOut', 'changePassword'].includes(name),
);

const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...fields).chain(([kind, field]) => callOf(kind, field)) },
  // Broken texts: a right one with something cut out or put in.
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...fields).chain(([kind, field]) => callOf(kind, field)),
        fc.nat(200),
        fc.string({ maxLength: 6 }),
      )
      .map(([right, at, junk]) => ({ ...right, query: right.query.slice(0, at) + junk + right.query.slice(at + 1) })),
  },
);

test('nothing of the inside is told', async () => {
  const calls = fc.sample(call, { numRuns: REQUESTS, seed: SEED });
  const tokens = [app.admin.token, null, 'nonsense'];
  const leaks: string[] = [];
  const statuses = new Map<number, number>();
  const ask = async (worker: number) => {
    for (let n = worker; n < calls.length; n += AT_ONCE) {
      const token = tokens[n % 5 === 0 ? 1 : n % 7 === 0 ? 2 : 0];
      const answer = await fetch(app.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
        body: JSON.stringify(calls[n]),
      });
      const text = await answer.text();
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      // What the caller wrote may come back; what is looked for is what he did not write.
      const leak = LEAK.exec(text)?.[0];
      if (answer.status >= 500 || (leak !== undefined && !JSON.stringify(calls[n]).includes(leak)))
        leaks.push(`${answer.status} ${JSON.stringify(calls[n]).slice(0, 300)} -> ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => ask(worker)));
  const defects = app.logged.filter((line) => line.includes('graphql.defect'));
  expect([...leaks, ...defects].slice(0, 10)).toEqual([]);
  expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBe(REQUESTS);
  expect(statuses.get(200)).toBeGreaterThan(500);
}, 900_000);
