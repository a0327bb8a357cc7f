/** A server that says of everybody that nobody is there: the campaign pauses, and nobody is lost by it (decision 0260). */
import { afterAll, expect, it } from 'vitest';
import path from 'node:path';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { recordRefusals } from '../../src/domain/bounces/record-refusals.ts';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { bounceTasks } from '../../src/workers/tasks/bounces.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { sourceOfCampaign } from '../../src/domain/statistics/source-read-model.ts';
import { storedReason } from '../support/stored-reason.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 50, bouncePause: { percent: 95, recipients: 100 } };
const ctx = await createTestContext({ installation: { ...testInstallation, limits } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = () => ({ drivers, campaigns: createActiveCampaigns(), announce: () => undefined });
/** Two that know nothing of one another, as processes do. */
const workers = await Promise.all(
  [tools(), tools()].map((own) =>
    runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(own), ...bounceTasks], concurrency: 2, crontab: [] }),
  ),
);
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop(5_000)));
  await drivers.close();
});

/** Kept in part: the cut is in the middle of a character of two units. */
const GONE = `550 5.1.1 User unknown ${Buffer.from('😀'.repeat(150)).toString('latin1')}`;
const refusing = (isGone: (line: string) => boolean) => ({
  extensions: ['PIPELINING'],
  answer: ({ verb, line }: SmtpEvent) => (verb === 'RCPT' && isGone(line) ? GONE : undefined),
});
const numberIn = (line: string): number => Number(/<p(\d+)@/.exec(line)?.[1]);

/** What is written about those who were refused; the queue of bounces is empty then. */
async function marksOf({ ctx: own, campaignId }: CampaignWorld) {
  const waiting = sql`SELECT 1 FROM graphile_worker.jobs WHERE task_identifier = 'bounces.record-refusals'`;
  await expect.poll(async () => (await queryRows(ctx.db, waiting)).length).toBe(0);
  const [row] = await queryRows(
    ctx.db,
    sql`SELECT (SELECT count(*)::int FROM suppression WHERE customer_id = ${own.viewer?.customerId}) AS suppressed,
               (SELECT count(*)::int FROM hot.bounce_event WHERE source_id = ${campaignId}) AS events,
               (SELECT count(*)::int FROM hot.person_event WHERE customer_id = ${own.viewer?.customerId} AND kind = 9 AND data = '{"type": "hard"}') AS recorded,
               (SELECT count(*)::int FROM hot.recipient_activity WHERE source_id = ${campaignId} AND bounced_at IS NOT NULL) AS bounced,
               (SELECT coalesce(sum(bounce_count), 0)::int FROM hot.tracking_counter WHERE source_id = ${campaignId}) AS counted`,
  );
  return { ...row, reason: await storedReason(ctx.db, campaignId) };
}

const NOBODY = { recorded: 0, suppressed: 0, events: 0, bounced: 0, counted: 0 };

it('pauses, keeps everybody, and sends to all once the server is mended', async () => {
  let isMended = false;
  await using server = await scriptedSmtpServer(refusing((line) => numberIn(line) > 20 && !isMended));
  const world = await campaignWorld(ctx, { recipients: 300, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'paused');
  await expect.poll(async () => await balanceOf(world)).toMatchObject({ audience: 300, failed: 0, sending: 0 });
  expect((await balanceOf(world)).queued).toBeGreaterThanOrEqual(280);
  expect(await marksOf(world)).toMatchObject({
    ...NOBODY,
    reason: expect.stringMatching(/^The sending server says of \d+ of the latest 100 .*550 5\.1\.1 User unknown/),
  });
  isMended = true;
  await resumeCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 300, failed: 0 });
  expect(await marksOf(world)).toMatchObject(NOBODY);
});

it('believes the server when somebody has resumed: does not pause again, and suppresses', async () => {
  await using server = await scriptedSmtpServer(refusing((line) => numberIn(line) % 50 !== 0));
  const world = await campaignWorld(ctx, { recipients: 300, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'paused');
  await marksOf(world);
  await resumeCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 6, failed: 294 });
  expect(await marksOf(world)).toMatchObject({
    suppressed: 294,
    events: 294,
    recorded: 294,
    bounced: 294,
    counted: 294,
  });
});

it('goes to its end when nine of ten are not there', async () => {
  await using server = await scriptedSmtpServer(refusing((line) => numberIn(line) % 10 !== 0));
  const world = await campaignWorld(ctx, { recipients: 300, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 30, failed: 270 });
  expect(await marksOf(world)).toMatchObject({ suppressed: 270, counted: 270 });
});

it('goes to its end when everybody of a few is refused', async () => {
  await using server = await scriptedSmtpServer(refusing(() => true));
  const world = await campaignWorld(ctx, { recipients: 45, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ failed: 45 });
});

it('queues again whom another process was refused for while the campaign was being paused', async () => {
  await using server = await scriptedSmtpServer(refusing((line) => numberIn(line) <= 3));
  const world = await campaignWorld(ctx, { recipients: 5, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await marksOf(world)).toMatchObject({ suppressed: 3, counted: 3 });
  const hold = sql`UPDATE campaign SET status = 'paused', bounce_spike = 'held' WHERE id = ${world.campaignId}`;
  await ctx.db.execute(hold);
  const rows = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT recipient_id AS id FROM hot.delivery WHERE source_id = ${world.campaignId} AND state = 'failed'`,
  );
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  const refusals = {
    ...sourceOfCampaign({ customerId, campaignId: world.campaignId }),
    messages: rows.map(({ id }) => ({ recipientId: id, occurrence: 0n })),
  };
  await recordRefusals(ctx, refusals);
  await recordRefusals(ctx, refusals);
  expect(await balanceOf(world)).toMatchObject({ sent: 2, queued: 3, failed: 0 });
  expect(await marksOf(world)).toMatchObject(NOBODY);
});
