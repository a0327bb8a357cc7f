/** A value of bytes, read without its detour over text. */
import { afterAll, expect, test } from 'vitest';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 1, log: silentLog });
afterAll(() => database.close());

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const LARGE = Buffer.concat(Array.from({ length: 12_000 }, () => ALL_BYTES));
await database.execute(sql`CREATE TABLE shelf (id bigint PRIMARY KEY, bytes bytea)`);
await database.execute(sql`INSERT INTO shelf VALUES (1, ${ALL_BYTES}), (2, ${LARGE}), (3, ''), (4, NULL)`);

test('every byte arrives, in a value of any length', async () => {
  expect(await database.readBytes(sql`SELECT bytes FROM shelf WHERE id = ${1n}`)).toEqual(ALL_BYTES);
  const large = await database.readBytes(sql`SELECT bytes FROM shelf WHERE id = ${2}`);
  expect(large?.equals(LARGE)).toBe(true);
  expect(await database.readBytes(sql`SELECT bytes FROM shelf WHERE id = 3`)).toEqual(Buffer.alloc(0));
});

test('no row and no value are undefined', async () => {
  expect(await database.readBytes(sql`SELECT bytes FROM shelf WHERE id = 4`)).toBeUndefined();
  expect(await database.readBytes(sql`SELECT bytes FROM shelf WHERE id = 5`)).toBeUndefined();
});

test('a transaction reads what it wrote itself, and goes on', async () => {
  const read = await database.transaction(async (tx) => {
    await tx.execute(sql`INSERT INTO shelf VALUES (6, 'six')`);
    const bytes = await tx.readBytes(sql`SELECT bytes FROM shelf WHERE id = 6`);
    await tx.execute(sql`DELETE FROM shelf WHERE id = 6`);
    return bytes;
  });
  expect(read?.toString()).toBe('six');
});

test('whatever is no whole number stays out of the statement, and the only connection serves on after a fault', async () => {
  const texts = ["1' OR true --", 1.5, Number.NaN, null, '1'];
  for (const text of texts) {
    await expect(database.readBytes(sql`SELECT bytes FROM shelf WHERE id = ${text}`)).rejects.toThrow('whole numbers');
  }
  await expect(database.readBytes(sql`SELECT bytes FROM nowhere`)).rejects.toMatchObject({ code: '42P01' });
  expect(await database.readBytes(sql`SELECT bytes FROM shelf WHERE id = 1`)).toEqual(ALL_BYTES);
});
