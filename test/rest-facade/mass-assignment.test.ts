/**
 * Nobody writes a column that is not documented (hard case E13): every writing row gets, beside right values, every
 * column of every table under each of its spellings, in the query and in the body, with values that could be
 * recognised. What is stored must be what the same request stores without them.
 */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { parametersOf, type RowParameter } from '../../src/rest-facade/row-parameters.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { startRestApp } from '../support/rest-app.ts';
import { requestRow } from '../support/request-row.ts';
import { newWorld, rightValue, type World } from '../support/rest-world.ts';
import { tablesOf } from '../support/table-states.ts';
import { comparable, storedBy } from '../support/stored-rows.ts';

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
let smtp: World['smtp'] = {};
let tables: readonly string[] = [];
let columns: readonly Column[] = [];

beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  smtp = { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' };
  // Jobs are written about the same things; what they hold is checked where they are made.
  tables = (await tablesOf(app)).filter((name) => !name.startsWith('graphile_worker.'));
  columns = await queryRows<{ table: string; name: string; type: string }>(
    app.ctx.db,
    sql`
    SELECT table_schema || '.' || table_name AS table, column_name AS name, data_type AS type
      FROM information_schema.columns WHERE table_schema IN ('public', 'hot')`,
  );
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

const cases = rows.flatMap((row) =>
  [row.method].flat().map((method) => ({ name: `${method} ${row.path}`, method, row })),
);
const writing = cases.filter(
  ({ method, row }) => method === 'POST' || method === 'PATCH' || row.path.endsWith('/add-field'),
);

// Recognisable, and of the column's type, so that nothing but being ignored keeps it out.
const POISON_TEXT = 'poison';
/** So long that no random digits of a digest or a sealed key have it by chance. */
const POISON_NUMBER = 1_424_242_424;
const POISON_TIME = '2001-02-03 04:05:06';

function poison(type: string, flag: boolean): unknown {
  if (type === 'boolean') return flag;
  if (/int|double|numeric/.test(type)) return POISON_NUMBER;
  if (/timestamp|date/.test(type)) return POISON_TIME;
  if (type === 'ARRAY') return [POISON_TEXT];
  return type === 'jsonb' ? { poison: POISON_TEXT } : POISON_TEXT;
}

/** Custom fields of the world's lists: their tags are documented parameters of subscribers. */
const OWN_FIELDS = ['FIRST_NAME', 'LAST_NAME'];

/** Every column's name in both spellings, but for what the row documents. */
function poisonFor(parameters: readonly RowParameter[], flag: boolean): [string, unknown][] {
  const documented = new Set(
    [...OWN_FIELDS, ...parameters.flatMap(({ names }) => names)].map((name) => plainName(name)),
  );
  const spellings = columns.flatMap(({ name, type }) =>
    [name, camel(name), name.toUpperCase()].map((spelled) => [spelled, type] as const),
  );
  const unknown = [...new Map(spellings)].filter(([name]) => !documented.has(plainName(name)));
  return [
    ...unknown.map(([name, type]): [string, unknown] => [name, poison(type, flag)]),
    ['__proto__', { isAdmin: true }],
    ['input', { customerId: '1', uid: POISON_TEXT }],
  ];
}

/** Columns that hold an id, a place among ids or a time under another name, or in a text, or how long something took. */
const COUNTED = ['verify_after', 'since', 'request', 'duration_ms', 'hour_from', 'position'];

async function rowsStoredBy(
  request: { row: Row; method: string; parameters: readonly RowParameter[] },
  extra: readonly [string, unknown][],
) {
  const { row, method, parameters } = request;
  const world = await newWorld(app, smtp);
  const right = parameters.map((parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, world)] as const);
  const { result: answer, stored } = await storedBy(app, tables, () =>
    requestRow(app, { row, method, world, values: [...extra, ...right] }),
  );
  return { world, answer, stored };
}

describe.each(writing)('$name', ({ row, method }) => {
  test('stores what it documents and nothing else', async () => {
    const parameters = await parametersOf(row);
    const plain = await rowsStoredBy({ row, method, parameters }, []);
    for (const flag of [true, false]) {
      const poisoned = await rowsStoredBy({ row, method, parameters }, poisonFor(parameters, flag));
      if (row.refusesUnknown === true) {
        expect([poisoned.answer.status, poisoned.stored]).toEqual([422, []]);
        continue;
      }
      expect(poisoned.answer.status, poisoned.answer.text.slice(0, 400)).toBe(plain.answer.status);
      const found = JSON.stringify(poisoned.stored);
      for (const sign of [POISON_TEXT, String(POISON_NUMBER), '2001-02-03']) expect(found).not.toContain(sign);
      expect(comparable(poisoned.stored, COUNTED)).toEqual(comparable(plain.stored, COUNTED));
      for (const [table, stored] of poisoned.stored) {
        // An administrator's rows write about other customers; the poison above is kept out of them all the same.
        if ('customer_id' in stored && row.access !== 'admin')
          expect(String(stored['customer_id']), table).toBe(String(poisoned.world.customerId));
      }
    }
  });
});

function plainName(name: string): string {
  return name.replace(/[^a-z0-9]/gi, '').toLowerCase();
}

function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
