/**
 * REST and GraphQL are two entry points to one house: the same act through either leaves the same rows. Every writing row of
 * one operation is played over REST in one world, and its operation, with the variables that the row would have made,
 * over `/graphql` in another.
 */
import { print } from 'graphql';
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mergeParameters } from '../../src/rest-facade/request-parameters.ts';
import { loadDocuments } from '../../src/rest-facade/documents.ts';
import { inputOf } from '../../src/rest-facade/input.ts';
import { declarationOf, parametersOf } from '../../src/rest-facade/row-parameters.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { startRestApp } from '../support/rest-app.ts';
import { requestRow, bodyOf } from '../support/request-row.ts';
import { newWorld, pathIn, rightValue, type World } from '../support/rest-world.ts';
import { tablesOf } from '../support/table-states.ts';
import { comparable, storedBy } from '../support/stored-rows.ts';

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const documents = loadDocuments(buildSchema());
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
let smtp: World['smtp'] = {};
let tables: readonly string[] = [];

beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  smtp = { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' };
  tables = (await tablesOf(app)).filter((name) => !name.startsWith('graphile_worker.'));
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

/** By which entry point somebody came is written down: the one thing that differs. */
const ENTRY_POINT_COLUMNS = ['entry_point', 'source', 'operation', 'request_id'];
/** Of a request to a receiver of webhooks: each has another id, signature and duration. */
const ATTEMPT_COLUMNS = ['request', 'duration_ms'];
/** When something began, and how far a reader of events was then. */
const CLOCK_COLUMNS = ['since', 'hour_from', 'position'];
const IGNORED = [...ENTRY_POINT_COLUMNS, ...ATTEMPT_COLUMNS, ...CLOCK_COLUMNS];

/** There is one for all worlds, and the first entry point has deleted it, or activated it for the first time. */
const ONCE_ONLY = new Set([
  'DELETE /plans/:uid',
  'DELETE /plugins/:vendor/:name',
  'POST /plugins/:vendor/:name/activate',
  'POST /plugins/:vendor/:name/rollback',
  'POST /upgrade/run-file',
]);

const twins = rows.flatMap((row) =>
  [row.method]
    .flat()
    .filter((method) => method !== 'GET' && row.operations.length === 1 && !row.takesFile && row.access !== 'public')
    .map((method) => ({ name: `${method} ${row.path}`, method, row }))
    .filter(({ name }) => !ONCE_ONLY.has(name)),
);

test('there are many', () => {
  expect(twins.length).toBeGreaterThan(40);
});

describe.each(twins)('$name', ({ row, method }) => {
  test('leaves the same rows through both entry points', async () => {
    const [one, other] = [await newWorld(app, smtp), await newWorld(app, smtp)];
    const overRest = await storedBy(app, tables, async () =>
      requestRow(app, { row, method, world: one, values: await valuesFor(row, one) }),
    );
    const call = await operationOf(row, other);
    const token = row.access === 'admin' ? app.adminToken : other.token;
    const overGraphql = await storedBy(app, tables, () => ask(call, token));
    expect(overGraphql.result.status, overGraphql.result.text.slice(0, 300)).toBe(200);
    expect(
      /"__typename":"\w+Error"|"errors":/.test(overGraphql.result.text),
      overGraphql.result.text.slice(0, 300),
    ).toBe(overRest.result.status >= 400);
    expect(comparable(overGraphql.stored, IGNORED)).toEqual(comparable(overRest.stored, IGNORED));
  });
});

async function valuesFor(row: Row, world: World): Promise<(readonly [string, unknown])[]> {
  const parameters = await parametersOf(row);
  return parameters.map((parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, world)] as const);
}

interface Operation {
  readonly name: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

class Captured extends Error {}

/** The operation that the row would run in this world. */
async function operationOf(row: Row, world: World): Promise<Operation> {
  let captured: Operation | undefined;
  const given = mergeParameters(Object.entries(bodyOf(await valuesFor(row, world))));
  const call: Parameters<Row['run']>[0] = {
    input: inputOf(given, {
      params: paramsIn(row.path, pathIn(world, row.path)),
      declared: (await declarationOf(row)).names,
      ignored: new Set(),
    }),
    upload: undefined,
    execute: (name, variables) => {
      captured = { name, variables };
      throw new Captured();
    },
    checkAll: async () => undefined,
    ofPlugin: { execute: async () => ({}), checkAll: async () => undefined },
    view: () => ({ dialect: 'standard', apiUrl: '', product: { name: '', version: '', baseUrl: '' } }),
    identify: async () => undefined,
    identified: () => true,
  };
  try {
    await row.run(call);
  } catch (error) {
    if (!(error instanceof Captured)) throw error;
  }
  if (!captured) throw new Error(`The row ${row.path} ran no operation.`);
  return captured;
}

function paramsIn(pattern: string, path: string): Record<string, string> {
  const values = path.split('/');
  return Object.fromEntries(
    pattern
      .split('/')
      .flatMap((part, at) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(values[at] ?? '')]] : [])),
  );
}

async function ask({ name, variables }: Operation, token: string): Promise<{ status: number; text: string }> {
  const operation = documents.get(name);
  if (!operation) throw new Error(`There is no operation ${name}.`);
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: print(operation.document), variables }),
  });
  return { status: response.status, text: await response.text() };
}
