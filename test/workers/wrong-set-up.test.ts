/** Campaigns through a server that is set up wrongly, or does not let the sender in: nobody's address is to blame. */
import { afterAll, expect, it } from 'vitest';
import path from 'node:path';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { resetServerHealth } from '../../src/domain/sending/reset-server-health.ts';
import { updateSendingServer } from '../../src/domain/sending/update-sending-server.ts';
import type { Context } from '../../src/domain/context.ts';
import { newUid } from '../../src/lib/ids.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { storedReason } from '../support/stored-reason.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 50, sendAttemptsMax: 20, sendRetryDelaySeconds: 0.1 };
const installation = { ...testInstallation, limits, outboundAllowHosts: ['127.0.0.1'] };
const ctx = await createTestContext({ installation });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 2, crontab: [] });
afterAll(async () => {
  await worker.stop(5_000);
  await drivers.close();
});

const RELAY_DENIED = (line: string) => `554 5.7.1 ${/<\S*>/.exec(line)?.[0] ?? ''}: Relay access denied`;
const CLIENT_REJECTED = '554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied';
const NOT_OWNED = '553 5.7.1 <news@sender.example>: Sender address rejected: not owned by user garden';

async function rowsOf({ campaignId }: CampaignWorld) {
  const [row] = await queryRows<{ tries: number; reason: string | null; reply: string | null }>(
    ctx.db,
    sql`SELECT max(attempts)::int AS tries, max(reason) AS reason, max(reply) AS reply FROM hot.delivery WHERE source_id = ${campaignId}`,
  );
  return row;
}

async function restingServers({ ctx: own }: CampaignWorld): Promise<number> {
  const rows = await queryRows(
    ctx.db,
    sql`SELECT 1 FROM hot.sending_health h JOIN sending_server s ON s.id = h.server_id
         WHERE h.state <> 'closed' AND s.customer_id = ${own.viewer?.customerId}`,
  );
  return rows.length;
}

async function jobsDueWithin(seconds: number): Promise<number> {
  const rows = await queryRows(
    ctx.db,
    sql`SELECT 1 FROM graphile_worker._private_jobs WHERE locked_at IS NOT NULL OR run_at <= now() + make_interval(secs => ${seconds})`,
  );
  return rows.length;
}

const changeServer = (own: Context, { uid }: { uid: string }) =>
  updateSendingServer(own, { uid, settings: { connections: 2 } });

async function campaignRow({ campaignId }: CampaignWorld) {
  const [row] = await queryRows<{ status: string }>(ctx.db, sql`SELECT status FROM campaign WHERE id = ${campaignId}`);
  return row && { ...row, reason: await storedReason(ctx.db, campaignId) };
}

it.each([
  ['relays for nobody, until it is reset', RELAY_DENIED, 'policy.server_does_not_relay', resetServerHealth],
  ['does not know us, until it is reset', () => CLIENT_REJECTED, 'block.server_is_blocked', resetServerHealth],
  ['does not know us, until it is changed', () => CLIENT_REJECTED, 'block.server_is_blocked', changeServer],
])('keeps everybody while a server %s', async (_what, refusal, reason, mend) => {
  let isMended = false;
  let asked = 0;
  await using server = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    answer: ({ verb, line }) => {
      if (verb !== 'RCPT' || isMended) return undefined;
      asked += 1;
      return refusal(line);
    },
  });
  const world = await campaignWorld(ctx, { recipients: 120, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await expect.poll(() => restingServers(world)).toBe(1);
  expect(await balanceOf(world)).toMatchObject({ audience: 120, failed: 0, sent: 0 });
  // The trouble of the server may be written before what it said of each of them.
  await expect.poll(() => rowsOf(world)).toMatchObject({ tries: 0, reason });
  expect(asked).toBeLessThanOrEqual(60);
  // Whoever mends it finds the batches asleep; behind a server that blocks us, for minutes.
  await expect.poll(() => jobsDueWithin(reason.startsWith('block') ? 60 : 0), { timeout: 120_000 }).toBe(0);
  isMended = true;
  const [row] = await queryRows<{ uid: string }>(
    ctx.db,
    sql`SELECT uid FROM sending_server WHERE customer_id = ${world.ctx.viewer?.customerId}`,
  );
  await mend(world.ctx, { uid: row?.uid ?? '' });
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 120, failed: 0 });
});

it('goes through the other server when one does not relay', async () => {
  await using first = await scriptedSmtpServer({
    answer: ({ verb }) => (verb === 'RCPT' ? '550 5.7.1 Relaying denied. Proper authentication required.' : undefined),
  });
  await using second = await scriptedSmtpServer();
  const world = await campaignWorld(ctx, { recipients: 60, smtpPort: first.port });
  const settings = { host: '127.0.0.1', port: second.port, encryption: 'none' };
  await ctx.db.execute(
    sql`INSERT INTO sending_server (customer_id, uid, name, type, settings)
        VALUES (${world.ctx.viewer?.customerId}, ${newUid()}, 'Another', 'smtp', ${JSON.stringify(settings)}::jsonb)`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 60, failed: 0 });
  expect(second.accepted).toHaveLength(60);
});

it('lets a domain fail whose own host does not take its mail, and keeps the server in use for everybody else', async () => {
  let asked = 0;
  await using server = await scriptedSmtpServer({
    answer: ({ verb, line }) => {
      if (verb !== 'RCPT' || !line.includes('@moved.example')) return undefined;
      asked += 1;
      return RELAY_DENIED(line);
    },
  });
  const world = await campaignWorld(ctx, { recipients: 200, smtpPort: server.port });
  await ctx.db.execute(
    sql`UPDATE subscriber SET email = 'p' || id || '@moved.example', email_key = 'p' || id || '@moved.example'
         WHERE list_id = ${world.listId} AND id IN (SELECT id FROM subscriber WHERE list_id = ${world.listId} ORDER BY id OFFSET 150)`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 150, failed: 50 });
  expect(asked).toBe(250);
  expect(
    await queryRows(ctx.db, sql`SELECT 1 FROM subscriber WHERE list_id = ${world.listId} AND status <> 'subscribed'`),
  ).toEqual([]);
  expect(await queryRows(ctx.db, sql`SELECT 1 FROM suppression`)).toEqual([]);
});

it.each([
  ['RCPT', NOT_OWNED],
  // Said before any recipient is named, whatever it reads like.
  ['MAIL', '550 Verification failed for <news@sender.example>, no such user here'],
  ['MAIL', '550 5.1.1 mailbox unavailable'],
  ['MAIL', '500 5.3.0 Error: command failed'],
])('pauses a campaign whose sender is refused at %s (%s), loses nobody and goes on', async (step, refusal) => {
  let isMended = false;
  await using server = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    answer: ({ verb }) => (verb === step && !isMended ? refusal : undefined),
  });
  const world = await campaignWorld(ctx, { recipients: 120, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'paused');
  expect((await campaignRow(world))?.reason).toContain(refusal);
  await expect.poll(async () => await balanceOf(world)).toMatchObject({ queued: 120, failed: 0, sent: 0 });
  expect(await restingServers(world)).toBe(0);
  isMended = true;
  await resumeCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: 120, failed: 0 });
});

it('pauses a campaign that is too large for the server, and fails nobody', async () => {
  await using server = await scriptedSmtpServer({ extensions: ['PIPELINING', 'SIZE 500'] });
  const world = await campaignWorld(ctx, { recipients: 60, smtpPort: server.port });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'paused');
  expect((await campaignRow(world))?.reason).toContain('the server takes at most 500');
  await expect.poll(async () => await balanceOf(world)).toMatchObject({ queued: 60, failed: 0, sent: 0 });
});
