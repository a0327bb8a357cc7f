/** A result that is not as its statement declares fails the test that ran it. */
import { expect, test } from 'vitest';
import { statementPlacesIn } from '../../scripts/support/statement-places.ts';
import { sql, typed } from '../../src/db/database.ts';
import { createTestContext } from '../support/test-context.ts';

const { db } = await createTestContext();

test('columns as they are declared are given', async () => {
  const columns = { id: 'bigint', ids: 'bigint[]', day: 'date', kind: typed<'a' | 'b'>('text?'), no: 'int?' } as const;
  const rows = await db.query(
    columns,
    sql`SELECT 1::bigint AS id, '{2,3}'::bigint[] AS ids, date '2026-05-04' AS day, 'a' AS kind, NULL::int AS no`,
  );
  expect(rows).toEqual([{ id: 1n, ids: [2n, 3n], day: '2026-05-04', kind: 'a', no: null }]);
});

test.for([
  ['another type', sql`SELECT 1 AS id`, 'Column id is declared as bigint, but has the type with the id 23.'],
  ['another name', sql`SELECT 1::bigint AS uid`, 'The statement gives no column id.'],
  [
    'one more column',
    sql`SELECT 1::bigint AS id, 2 AS more`,
    'The statement gives a column more that is not declared.',
  ],
  ['NULL', sql`SELECT NULL::bigint AS id`, 'Column id is NULL in a row, but declared as bigint, not as bigint?.'],
] as const)('%s is a fault', async ([, statement, fault]) => {
  await expect(db.query({ id: 'bigint' }, statement)).rejects.toThrow(fault);
});

test('the places of statements are found', () => {
  const source = "await ctx.db\n  .query({ id: 'int' }, sql`…`);\nawait tx.execute(find());\nclient.query('BEGIN');";
  expect(statementPlacesIn('a.ts', source)).toEqual(['a.ts:2', 'a.ts:3']);
});
