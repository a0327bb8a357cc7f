/** Limits counted over all processes: whoever changes several windows locks them in one order. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { countInWindows, giveBackToWindows } from '../../src/db/rate-windows.ts';
import { createTestContext } from '../support/test-context.ts';

const { db, database } = await createTestContext();

test('windows are locked in one order, also in a database that sorts by another', async () => {
  await db.execute(sql`ALTER TABLE hot.rate_window ALTER COLUMN key TYPE text COLLATE "en-x-icu"`);
  // Sorted by bytes, the second comes first.
  const keys = ['login:a', 'login:B'];
  const counts = keys.map((key) => ({ key, seconds: 900, n: 1 }));
  await countInWindows(db, counts);
  const isWaiting = async () =>
    (
      await queryRows(
        db,
        sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    ).length;
  for (const act of [() => giveBackToWindows(db, counts), () => countInWindows(db, counts)]) {
    let acting: Promise<unknown> = Promise.resolve();
    await database.transaction(async (tx) => {
      await tx.execute(sql`SELECT 1 FROM hot.rate_window WHERE key = 'login:a' FOR UPDATE`);
      acting = act();
      await expect.poll(isWaiting, { interval: 20 }).toBe(1);
      const free = await queryRows(db, sql`SELECT 1 FROM hot.rate_window WHERE key = 'login:B' FOR UPDATE SKIP LOCKED`);
      expect(free).toEqual([]);
    });
    await acting;
  }
});
