/** A transaction that the server undoes for a deadlock is done again as a whole; nothing else is, and nothing twice. */
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { inTransaction } from '../../src/domain/context.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
const { database } = ctx;
await database.execute(sql`CREATE TABLE shelf (id int PRIMARY KEY, n int NOT NULL)`);
await database.execute(sql`INSERT INTO shelf VALUES (1, 0), (2, 0)`);

await database.execute(
  sql`CREATE FUNCTION fail_with(code text) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''no'' USING ERRCODE = code; END'`,
);

it('both of two that take the same rows in opposite order end well, and their acts run once', async () => {
  const bothHoldOne = Promise.withResolvers<void>();
  const acts: string[] = [];
  let [begun, holding] = [0, 0];
  const take = (name: string, order: readonly number[]) =>
    inTransaction(ctx, async (outer) => {
      begun += 1;
      outer.tx.afterCommit(() => void acts.push(name));
      for (const id of order) {
        // Inside of a transaction nothing is repeated by itself: it would work on one that is undone.
        await inTransaction(outer, ({ db }) => db.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = ${id}`));
        if (++holding === 2) bothHoldOne.resolve();
        await bothHoldOne.promise;
      }
    });
  await Promise.all([take('up', [1, 2]), take('down', [2, 1])]);
  expect(begun).toBe(3);
  expect(acts.toSorted()).toEqual(['down', 'up']);
  expect(await queryRows(database, sql`SELECT n FROM shelf ORDER BY id`)).toEqual([{ n: 2 }, { n: 2 }]);
});

/** How often a transaction is begun that ends with this SQLSTATE each time. */
async function timesBegun(code: string): Promise<number> {
  let begun = 0;
  const failing = database.transaction(async (tx) => {
    begun += 1;
    await queryRows(tx, sql`SELECT fail_with(${code})`);
  });
  await expect(failing).rejects.toMatchObject({ code });
  return begun;
}

it('a single statement is, too', async () => {
  await database.execute(sql`CREATE SEQUENCE tries`);
  const failing = queryRows(database, sql`SELECT nextval('tries'), fail_with('40P01')`);
  await expect(failing).rejects.toMatchObject({ code: '40P01' });
  expect(await queryRows(database, sql`SELECT last_value FROM tries`)).toEqual([{ last_value: 4n }]);
});

it.each([
  ['40P01', 4],
  ['40001', 4],
  ['23505', 1],
  ['57014', 1],
])('one that ends with %s each time is begun %i times', async (code, times) => {
  expect(await timesBegun(code)).toBe(times);
});
