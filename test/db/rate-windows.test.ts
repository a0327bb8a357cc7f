/** Limits counted over all processes: whoever changes several windows locks them in one order. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { countInWindows, giveBackToWindows, takeFromWindows } from '../../src/db/rate-windows.ts';
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

test('no stretch of a sliding window has more than its number, also around what would be its end', async () => {
  const limit = { key: 'login:slides/900', max: 10, seconds: 900 };
  const take = async (n: number) => {
    let count = 0;
    for (let no = 0; no < n; no++) if (!(await takeFromWindows(db, [limit])).refusedBy) count += 1;
    return count;
  };
  const pass = (seconds: number) =>
    db.execute(sql`UPDATE hot.rate_window SET ends_at = ends_at - make_interval(secs => ${seconds}::int),
      times = ARRAY(SELECT t - make_interval(secs => ${seconds}::int) FROM unnest(times) t) WHERE key = ${limit.key}`);
  expect(await take(1)).toBe(1);
  await pass(885);
  expect(await take(12)).toBe(9);
  // A window from the first one on would end here and let ten more through.
  await pass(30);
  expect(await take(12)).toBe(1);
  const { refusedBy } = await takeFromWindows(db, [limit]);
  expect(refusedBy?.endsInSeconds).toBeGreaterThan(850);
  expect(refusedBy?.endsInSeconds).toBeLessThanOrEqual(885);
  // What is given back can be taken again, once.
  await giveBackToWindows(db, [limit], 3);
  expect(await take(5)).toBe(3);
  await pass(900);
  expect(await take(12)).toBe(10);
});

test('many at once take exactly the number of a sliding window or fewer', async () => {
  const limit = { key: 'login:at-once/900', max: 10, seconds: 900 };
  const all = await Promise.all(Array.from({ length: 40 }, () => takeFromWindows(db, [limit])));
  expect(all.filter(({ refusedBy }) => !refusedBy).length).toBeLessThanOrEqual(10);
  expect((await takeFromWindows(db, [limit], 11)).refusedBy).toBeDefined();
});

test('a window without counts, as an earlier version left it, is begun anew', async () => {
  await db.execute(sql`
    INSERT INTO hot.rate_window (key, used, ends_at, times, totals) VALUES ('login:old', 4, now() - interval '1 hour', '{}', '{}')`);
  expect((await takeFromWindows(db, [{ key: 'login:old', max: 10, seconds: 900 }])).refusedBy).toBeUndefined();
});
