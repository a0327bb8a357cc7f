/** Column lists are made of a noun's fields, and of nothing else that a caller may hand over. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { join, sql } from '../../src/db/database.ts';
import { assignments, insertion, selectList } from '../../src/db/fields.ts';
import type { Fields } from '../../src/db/fields.ts';
import { typed } from '../../src/db/row.ts';
import { createTestContext } from '../support/test-context.ts';

const fields = {
  id: { column: 'id', type: 'bigint' },
  fromName: { column: 'from_name', type: 'text' },
  quietHours: { column: 'quiet_hours', type: typed<{ from: string } | string[]>('json?') },
} satisfies Fields;

test('what is given is written and read back, under the names of the fields', async () => {
  const { db } = await createTestContext();
  await db.execute(
    sql`CREATE TABLE noun (id bigint, from_name text DEFAULT 'nobody', quiet_hours jsonb, is_admin boolean DEFAULT false)`,
  );
  const first = { id: 1n, quietHours: ['a', 'b'], isAdmin: true, is_admin: true, constructor: 'x' };
  await db.execute(sql`INSERT INTO noun ${insertion(fields, first)}`);
  const read = async () => (await queryRows(db, sql`SELECT ${selectList(fields, 'n')}, n.is_admin FROM noun n`))[0];
  expect(await read()).toEqual({ id: 1n, fromName: 'nobody', quietHours: ['a', 'b'], is_admin: false });
  const change = { fromName: "it's", id: undefined, quietHours: null, is_admin: true };
  await db.execute(sql`UPDATE noun SET ${join(assignments(fields, change))}`);
  expect(await read()).toEqual({ id: 1n, fromName: "it's", quietHours: null, is_admin: false });
});
