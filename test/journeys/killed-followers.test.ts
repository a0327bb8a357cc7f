/** Followers of the event record whose process is killed: each event reaches each of them, in the order of its object. */
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { killFollowers } from '../../scripts/support/killed-followers.ts';
import { createTestDatabase } from '../support/test-database.ts';

const EVENTS = 20_000;

test('three kills in the middle of 20,000 events for three followers, one of a plugin', async () => {
  const { url } = await createTestDatabase();
  const database = openDatabase({ url, poolSize: 6, log: silentLog });
  afterFile(() => database.close());
  const kept = await killFollowers(database, { events: EVENTS, kills: 3 });
  expect(kept.events).toBeGreaterThanOrEqual(EVENTS);
  expect(kept).toMatchObject({ missed: 0, outOfOrder: 0, kills: 3 });
});
