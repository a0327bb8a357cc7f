/** A campaign that waits says within seconds for what and until when, and no more once it gets on; only trouble is an alarm. */
import { afterAll, expect, it } from 'vitest';
import path from 'node:path';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { statusReasonsOf } from '../../src/domain/campaigns/campaign-wait.ts';
import { pauseCampaign } from '../../src/domain/campaigns/pause-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { watchProgress } from '../../src/domain/campaigns/watch-progress.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { jobPayload } from '../../src/domain/delivery/campaigns/batch.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { sendBatchJob } from '../../src/jobs/campaign-jobs.ts';
import { enqueue } from '../../src/jobs/define-job.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { countStatements } from '../support/count-statements.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { storedReason } from '../support/stored-reason.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 50 };
const ctx = await createTestContext({ installation: { ...testInstallation, limits } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 2, crontab: [] });
afterAll(async () => {
  await worker.stop(5_000);
  await drivers.close();
});

async function reasonOf({ ctx: own, campaignId }: CampaignWorld): Promise<string | null> {
  const customerId = own.viewer?.customerId ?? 0n;
  return (await statusReasonsOf(ctx, [{ customerId, campaignId }]))[0] ?? null;
}

/** What the watch says of a campaign that has stood still for an hour. */
async function alarmOf({ campaignUid, campaignId }: CampaignWorld): Promise<string | null | undefined> {
  await watchProgress(ctx);
  await ctx.db.execute(sql`UPDATE hot.campaign_progress SET changed_at = changed_at - interval '1 hour'`);
  const alarms = await watchProgress(ctx);
  return alarms.includes(campaignUid) ? storedReason(ctx.db, campaignId) : undefined;
}

it('a server that is down: since when, why, until when; an alarm says the same', async () => {
  let isDown = true;
  await using server = await scriptedSmtpServer({
    answer: ({ verb }) => (isDown && verb === 'CONNECT' ? '554 no service today' : undefined),
  });
  const world = await campaignWorld(ctx, { recipients: 20, smtpPort: server.port });
  expect(await reasonOf(world)).toBeNull();
  await startCampaign(world.ctx, world.campaignUid);
  const said = /Sending server "Test" cannot be used since [-0-9]+ [:0-9]+ UTC \(.*no service today\): it is /;
  await expect.poll(() => reasonOf(world)).toMatch(said);
  expect(await alarmOf(world)).toMatch(/^No progress since .*: Sending server "Test" cannot be used since .*[^.]\.$/);
  isDown = false;
  await ctx.db.execute(sql`DELETE FROM hot.sending_health`);
  await untilStatus(world, 'done');
  expect(await reasonOf(world)).toBeNull();
});

it('a provider that asked to wait, when nobody else is left', async () => {
  await using server = await scriptedSmtpServer({
    answer: ({ verb, line }) =>
      verb === 'RCPT' && line.includes('@gmail.com') ? '421 4.7.28 an unusual rate of mail' : undefined,
  });
  const world = await campaignWorld(ctx, { recipients: 30, smtpPort: server.port });
  await ctx.db.execute(
    sql`UPDATE subscriber SET email = 'p' || id || '@gmail.com', email_key = 'p' || id || '@gmail.com' WHERE list_id = ${world.listId} AND id % 2 = 0`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await expect
    .poll(() => reasonOf(world))
    .toMatch(
      /^No remaining recipient can be tried before .* UTC \(held back: the provider asked to wait; google: 421 4\.7\.28/,
    );
  // The last of the others may be in flight still.
  await expect.poll(async () => (await balanceOf(world)).sent).toBe(15);
  expect(await alarmOf(world)).toBeUndefined();
  await pauseCampaign(world.ctx, world.campaignUid);
  expect(await reasonOf(world)).toBeNull();
});

it.each([
  [
    'a slow quota',
    { quotaValue: 10, quotaBase: 1, quotaUnit: 'hour' },
    null,
    /^Sending server "Test" sends at most 10 per hour: the next message goes at .* UTC\.$/,
  ],
  [
    'the day of a warm-up',
    {},
    '{"kind": "days", "days": [2], "goal": 1000}',
    /^Sending server "Test" is warming up and has sent the 2 messages of this day: it continues at .* UTC\.$/,
  ],
])('%s, which is no alarm', async (_what, quota, warmUp, said) => {
  await using server = await scriptedSmtpServer();
  const world = await campaignWorld(ctx, { recipients: 20, smtpPort: server.port, server: quota });
  await ctx.db.execute(
    sql`UPDATE sending_server SET warm_up = ${warmUp}::jsonb, warm_up_started_at = now() WHERE customer_id = ${world.ctx.viewer?.customerId} AND ${warmUp}::jsonb IS NOT NULL`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await expect.poll(() => reasonOf(world)).toMatch(said);
  expect(await alarmOf(world)).toBeUndefined();
  await pauseCampaign(world.ctx, world.campaignUid);
});

it('no server at all', async () => {
  await using server = await scriptedSmtpServer();
  const world = await campaignWorld(ctx, {
    recipients: 20,
    smtpPort: server.port,
    server: { quotaValue: 1, quotaUnit: 'hour' },
  });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'sending');
  await ctx.db.execute(
    sql`UPDATE sending_server SET status = 'inactive' WHERE customer_id = ${world.ctx.viewer?.customerId}`,
  );
  await expect.poll(() => reasonOf(world)).toBe('There is no active sending server for this campaign.');
  await pauseCampaign(world.ctx, world.campaignUid);
});

it('all campaigns of a long page are told of, in as many statements as one', async () => {
  await using server = await scriptedSmtpServer();
  const [idle, late] = [
    await campaignWorld(ctx, { recipients: 1, smtpPort: server.port }),
    await campaignWorld(ctx, { recipients: 1, smtpPort: server.port }),
  ];
  await ctx.db.execute(
    sql`UPDATE sending_server SET status = 'inactive' WHERE customer_id = ${idle.ctx.viewer?.customerId}`,
  );
  // What the tests before have left comes again after some seconds, and would ask for something meanwhile.
  await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs WHERE locked_at IS NULL`);
  await expect.poll(() => queryRows(ctx.db, sql`SELECT 1 FROM graphile_worker._private_jobs`)).toEqual([]);
  const keys = (await Promise.all([idle, late].map((world) => underWay(world, 30)))).flat();
  const { result, statements } = await countStatements(() => statusReasonsOf(ctx, keys));
  expect(result.slice(0, 30)).toEqual(Array(30).fill('There is no active sending server for this campaign.'));
  expect(new Set(result.slice(30).map((reason) => reason?.replace(/before .* UTC/, '')))).toEqual(
    new Set(
      keys.slice(30).map((_key, no) => `No remaining recipient can be tried  (transient: mailbox full; ${no + 1}).`),
    ),
  );
  // The queue of this process asks for jobs meanwhile.
  const asked = statements.filter((statement) => !statement.includes('graphile_worker'));
  expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(7);
  // The next file's worker would take them up.
  await ctx.db.execute(sql`UPDATE campaign SET status = 'paused' WHERE status = 'sending'`);
});

/** Copies of the campaign, each with one person who comes again in an hour. */
async function underWay({ ctx: own, campaignUid, listId }: CampaignWorld, count: number) {
  const customerId = own.viewer?.customerId ?? 0n;
  const rows = await queryRows<{ campaignId: bigint }>(
    ctx.db,
    sql`WITH made AS (
          INSERT INTO campaign (customer_id, list_id, uid, name, status, snapshot_on, snapshot_at)
          SELECT ${customerId}, ${listId}, ${campaignUid} || n, 'Copy', 'sending', current_date, now() FROM generate_series(1, ${count}::int) n
          RETURNING id, uid
        ), counted AS (
          INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open) SELECT ${customerId}, 1, id, 1, 1 FROM made
        ), planned AS (
          INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, reason, reply, not_before)
          SELECT current_date, ${customerId}, 1, id, 1, 'p1@example.org', 'transient.mailbox_full', substr(uid, length(${campaignUid}) + 1), now() + interval '1 hour' FROM made
        )
        SELECT id AS "campaignId" FROM made ORDER BY id`,
  );
  for (const { campaignId } of rows) {
    const batch = { customerId, campaignId, fromId: 1n, toId: 1n };
    await enqueue(ctx.db, sendBatchJob, jobPayload(batch), { delaySeconds: 3_600 });
  }
  return rows.map((row) => ({ customerId, ...row }));
}
