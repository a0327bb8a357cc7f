/** The harness itself: what a test file gets is migrated, its own, and gone afterwards. */
import pg from 'pg';
import { afterAll, expect, inject, test } from 'vitest';
import { onBusyMachine } from './busy-machine.ts';
import { createEmptyDatabase, createTestDatabase } from './test-database.ts';

const startedAt = performance.now();
const first = await createTestDatabase();
const cloneMs = performance.now() - startedAt;
const second = await createTestDatabase();
const empty = await createEmptyDatabase();
const clients = [first, second, empty].map(({ url }) => new pg.Client(url));
for (const client of clients) await client.connect();
afterAll(() => Promise.all(clients.map((client) => client.end())));

const tables = `SELECT count(*)::int AS count FROM information_schema.tables WHERE table_schema = $1`;

async function countTables(client: pg.Client | undefined, schema: string): Promise<unknown> {
  return (await client?.query(tables, [schema]))?.rows[0]?.count;
}

test('a clone has the tables of every migration and of the job queue', async () => {
  expect(await countTables(clients[0], 'public')).toBeGreaterThan(10);
  expect(await countTables(clients[0], 'hot')).toBeGreaterThan(3);
  expect(await countTables(clients[0], 'graphile_worker')).toBeGreaterThan(3);
});

test('an empty database has none', async () => {
  expect(await countTables(clients[2], 'public')).toBe(0);
});

test('what one clone writes is not in the other', async () => {
  await clients[0]?.query('CREATE TABLE public.only_here (id int)');
  await expect(clients[1]?.query('SELECT * FROM public.only_here')).rejects.toThrow('does not exist');
});

// All migrations take ten seconds and more, a copy 30 ms.
test('a clone is a copy', () => {
  expect(cloneMs).toBeLessThan(onBusyMachine(2_000));
  expect(inject('testTemplate')).toMatch(/^mailwright_template_/);
});
