/** The walks' eye for changes: it sees what a request writes, and not what the clock does meanwhile. */
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { watchProgress } from '../../src/domain/campaigns/watch-progress.ts';
import { startRestApp } from './rest-app.ts';
import { newWorld } from './rest-world.ts';
import { changedSince, stateOf } from './table-states.ts';

const app = await startRestApp();
const { campaignUid, customerId } = await newWorld(app, { host: '127.0.0.1', port: 25, encryption: 'none' });

test('what changes is told by the names of its tables', async () => {
  const before = await stateOf(app);
  expect(await changedSince(app, before)).toEqual([]);
  await app.ctx.db.execute(sql`UPDATE campaign SET reason_code = 'overdue' WHERE uid = ${campaignUid}`);
  await app.ctx.db.execute(sql`DELETE FROM suppression WHERE customer_id = ${customerId}`);
  expect((await changedSince(app, before)).toSorted()).toEqual(['public.campaign', 'public.suppression']);
});

test('the alarm about a campaign that nobody sends is no change by a request', async () => {
  await app.ctx.db.execute(sql`UPDATE campaign SET status = 'queued', reason_code = NULL WHERE uid = ${campaignUid}`);
  const before = await stateOf(app);
  await watchProgress(app.ctx);
  await app.ctx.db.execute(sql`UPDATE hot.campaign_progress SET changed_at = now() - interval '4 minutes'`);
  expect(await watchProgress(app.ctx)).toEqual([campaignUid]);
  expect(await changedSince(app, before)).toEqual([]);
});
