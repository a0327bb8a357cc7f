/** Recipients whom quiet hours or a frequency cap held back are looked at again (D82), by jobs that take nobody else of a long list along. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { freeHeldRecipientsOf } from '../../../src/domain/campaigns/free-held-recipients.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { sendBatchJob } from '../../../src/jobs/campaign-jobs.ts';
import { queuedJobs } from '../../../src/jobs/queue-internals-store.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const RECIPIENTS = 60;
const BATCH = 2;

const base = await createTestContext();
const { installation } = base;
const limits = { ...installation.limits, sendBatchSize: BATCH };
const ctx = { ...base, installation: { ...installation, limits } };

test('who was held far from each other gets a job each, and neighbours have one', async () => {
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: 1 });
  const { customerId } = viewerOf(world.ctx);
  const { db } = ctx;
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, { customerId, campaignId: world.campaignId }, new AbortController().signal);
  const ledger = sql`customer_id = ${customerId} AND source_kind = 1 AND source_id = ${world.campaignId}`;
  const people = await queryRows<{ id: bigint }>(
    db,
    sql`SELECT recipient_id AS id FROM hot.delivery WHERE ${ledger} ORDER BY 1`,
  );
  const [first = 0n, second = 0n, third = 0n, ...others] = people.map(({ id }) => id);
  const last = others.at(-1) ?? 0n;
  await db.execute(
    sql`UPDATE hot.delivery SET reason = 'frequency_cap', not_before = now() + interval '1 day'
         WHERE ${ledger} AND recipient_id = ANY (${[first, second, third, last]}::bigint[])`,
  );
  await db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
  expect(await freeHeldRecipientsOf(world.ctx, { customerId, listId: null }, () => false)).toBe(true);
  const jobs = await queryRows<{ range: string }>(
    db,
    sql`SELECT (j.payload ->> 'fromId') || '-' || (j.payload ->> 'toId') AS range FROM ${queuedJobs} j
         WHERE j.name = ${sendBatchJob.name} ORDER BY (j.payload ->> 'fromId')::bigint`,
  );
  expect(jobs.map(({ range }) => range)).toEqual([`${first}-${second}`, `${third}-${third}`, `${last}-${last}`]);
});
