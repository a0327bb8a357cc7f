/** `npm run end-hold` without a word: what an operator reads of a hold. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { hold } from '../../src/domain/installation/restore-guard.ts';
import { seedCampaign } from '../support/audience-rows.ts';
import { OBSERVED } from '../support/check-statements.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();

it('names each campaign once, with what it alone has to send', async () => {
  const { customerId, campaignId, campaignUid } = await seedCampaign(ctx.db, { subscribers: 1 });
  await ctx.db.execute(sql`UPDATE campaign SET status = 'sending' WHERE id = ${campaignId}`);
  // Of the campaign, and of an automation with the same id.
  for (const kind of [1, 2])
    await ctx.db.execute(sql`
      INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open)
      VALUES (${customerId}, ${kind}, ${campaignId}, ${kind * 10}, ${kind * 10})`);
  await hold(ctx.database, 'By a test.');
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.resolve('scripts/end-hold.ts')], {
    env: { PATH: process.env['PATH'], ...OBSERVED, DATABASE_URL: ctx.database.url },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n').filter((line) => line.includes(campaignUid));
  expect(lines).toEqual([expect.stringMatching(/ 10 still to be sent/)]);
});
