/** A database on which every statement runs and changes nothing. */
import { afterAll, expect, test } from 'vitest';
import { openDatabase, sql } from '../../src/db/database.ts';
import { rolledBack } from '../../src/db/rolled-back.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 1, log: silentLog });
afterAll(() => database.close());
await database.execute(sql`CREATE TABLE shelf (id bigint PRIMARY KEY, bytes bytea)`);
await database.execute(sql`INSERT INTO shelf VALUES (1, 'one')`);
const checked = rolledBack(database);

test('a statement answers as it would, and leaves nothing', async () => {
  expect(await checked.execute(sql`INSERT INTO shelf VALUES (2, 'two')`)).toBe(1);
  expect(await checked.query({ id: 'bigint' }, sql`DELETE FROM shelf WHERE id = 1 RETURNING id`)).toEqual([{ id: 1n }]);
  expect((await checked.readBytes(sql`SELECT bytes FROM shelf WHERE id = 1`))?.toString()).toBe('one');
  expect(await database.query({ id: 'bigint' }, sql`SELECT id FROM shelf`)).toEqual([{ id: 1n }]);
});

test('a fault is told, and the only connection serves on', async () => {
  await expect(checked.execute(sql`INSERT INTO shelf VALUES (1, 'again')`)).rejects.toMatchObject({ code: '23505' });
  expect(await checked.query({ id: 'bigint' }, sql`SELECT id FROM shelf`)).toEqual([{ id: 1n }]);
});
