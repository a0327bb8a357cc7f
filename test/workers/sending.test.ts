/** A campaign from start to `done`, in this process: what each reply leads to, pausing, pacing, leaving the list. */
import { afterAll, describe, expect, it } from 'vitest';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { decideUnknownDeliveries } from '../../src/domain/campaigns/decide-unknown-deliveries.ts';
import { pauseCampaign } from '../../src/domain/campaigns/pause-campaign.ts';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { scheduleCampaign } from '../../src/domain/campaigns/schedule-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask, startScheduledCampaignTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, copiesByRecipient, statusOf, untilStatus } from '../support/campaign-world.ts';
import { scriptedSmtpServer, type ScriptedOptions } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const extensions = ['PIPELINING', '8BITMIME'];
const limits = {
  ...testInstallation.limits,
  sendBatchSize: 50,
  snapshotBatchSize: 200,
  sendAttemptsMax: 3,
  sendRetryDelaySeconds: 1,
};
const ctx = await createTestContext({ installation: { ...testInstallation, limits } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({
  ctx,
  tasks: [snapshotTask, startScheduledCampaignTask, sendBatchTask(tools)],
  concurrency: 2,
  crontab: [],
});
afterAll(async () => {
  await worker.stop(5_000);
  await drivers.close();
});

const sink = (options: ScriptedOptions = {}) => scriptedSmtpServer({ extensions, ...options });

/** Loses its connection behind the first content, without a word of what it makes of it. */
function dropsOneContent() {
  let hasDropped = false;
  return sink({
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT' || hasDropped) return undefined;
      hasDropped = true;
      session.socket.destroy();
      return null;
    },
  });
}
/** The number in `p<number>@example.org`. */
const numberOf = (address: string | undefined): number => Number(/^<?p(\d+)@/.exec(address ?? '')?.[1]);

describe('a campaign', () => {
  it('reaches everybody once, each with their own values, and balances', async () => {
    await using server = await sink();
    const world = await campaignWorld(ctx, { recipients: 730, smtpPort: server.port });
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
    const copies = copiesByRecipient(server.accepted);
    expect(copies.size).toBe(730);
    expect(new Set(copies.values())).toEqual(new Set([1]));
    for (const { to, content } of server.accepted) expect(content).toContain(`Subject: Hi Name${numberOf(to)}`);
    expect(await balanceOf(world)).toMatchObject({ audience: 730, sent: 730, queued: 0, leased: 0, sending: 0 });
  });

  it('keeps what the server said: refused for good, refused for now, then taken', async () => {
    const tries = new Map<number, number>();
    await using server = await sink({
      answer: ({ verb, line }) => {
        if (verb !== 'RCPT') return undefined;
        const number = numberOf(/<(.*)>/.exec(line)?.[1]);
        tries.set(number, (tries.get(number) ?? 0) + 1);
        if (number === 7) return '550 5.1.1 no such user';
        if (number === 8) return '452 4.2.2 mailbox full';
        if (number === 9 && tries.get(9) === 1) return '451 4.7.1 try again';
        return undefined;
      },
    });
    const world = await campaignWorld(ctx, { recipients: 20, smtpPort: server.port });
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
    expect(await balanceOf(world)).toMatchObject({ audience: 20, sent: 18, failed: 2 });
    const rows = await queryRows<{ email: string; attempts: number; reply: string; reason: string | null }>(
      ctx.db,
      sql`SELECT email, attempts, reply, reason FROM hot.delivery WHERE source_id = ${world.campaignId} AND email IN ('p7@example.org', 'p8@example.org', 'p9@example.org') ORDER BY email`,
    );
    expect(rows.map(({ email, attempts, reason }) => [email, attempts, reason])).toEqual([
      ['p7@example.org', 1, 'permanent.mailbox_unknown'],
      ['p8@example.org', 3, 'transient.mailbox_full.gave_up'],
      ['p9@example.org', 2, null],
    ]);
    expect(rows[0]?.reply).toContain('550 5.1.1 no such user');
  });

  it('pauses at once, sends nothing while paused, and goes on where it stopped', async () => {
    await using server = await sink();
    const world = await campaignWorld(ctx, {
      recipients: 1_500,
      smtpPort: server.port,
      server: { connections: 2, window: 2 },
    });
    await startCampaign(world.ctx, world.campaignUid);
    for (let cycle = 0; cycle < 3; cycle++) {
      while (server.accepted.length < 200 * (cycle + 1)) await sleep(2);
      await pauseCampaign(world.ctx, world.campaignUid);
      const atPause = server.accepted.length;
      await expect.poll(() => balanceOf(world)).toMatchObject({ sending: 0, leased: 0 });
      await sleep(500);
      // Connections × window may be in flight when the answer comes.
      expect(server.accepted.length - atPause).toBeLessThanOrEqual(4);
      await resumeCampaign(world.ctx, world.campaignUid);
    }
    await untilStatus(world, 'done');
    const copies = copiesByRecipient(server.accepted);
    expect(copies.size).toBe(1_500);
    expect(Math.max(...copies.values())).toBe(1);
  });

  it('mails nobody who left the list or was suppressed after the plan', async () => {
    await using server = await sink();
    const world = await campaignWorld(ctx, {
      recipients: 100,
      smtpPort: server.port,
      server: { quotaValue: 20, quotaBase: 1, quotaUnit: 'second' },
    });
    await startCampaign(world.ctx, world.campaignUid);
    while (server.accepted.length === 0) await sleep(5);
    await ctx.db.execute(
      sql`UPDATE subscriber SET status = 'unsubscribed' WHERE list_id = ${world.listId} AND email_key = 'p99@example.org'`,
    );
    await ctx.db.execute(
      sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (0, 'p98@example.org', 'manual')`,
    );
    await untilStatus(world, 'done');
    const copies = copiesByRecipient(server.accepted);
    expect(copies.has('p99@example.org')).toBe(false);
    expect(copies.has('p98@example.org')).toBe(false);
    expect(await balanceOf(world)).toMatchObject({ audience: 100, sent: 98, skipped: 1, suppressed: 1 });
  });

  it('keeps the pace of its server', async () => {
    await using server = await sink();
    const world = await campaignWorld(ctx, {
      recipients: 60,
      smtpPort: server.port,
      server: { quotaValue: 10, quotaBase: 1, quotaUnit: 'second' },
    });
    const startedAt = performance.now();
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
    // 60 messages at 10 a second, the first ten at once.
    expect(performance.now() - startedAt).toBeGreaterThan(4_500);
  });

  it('waits for a server that is down, and counts it against nobody', async () => {
    let isDown = true;
    await using server = await sink({
      answer: ({ verb }) => (isDown && verb === 'CONNECT' ? '421 4.3.2 closing' : undefined),
    });
    const world = await campaignWorld(ctx, { recipients: 30, smtpPort: server.port });
    await startCampaign(world.ctx, world.campaignUid);
    await sleep(1_500);
    expect(await balanceOf(world)).toMatchObject({ sent: 0, failed: 0 });
    isDown = false;
    await untilStatus(world, 'done');
    const [row] = await queryRows<{ attempts: number }>(
      ctx.db,
      sql`SELECT max(attempts) AS attempts FROM hot.delivery WHERE source_id = ${world.campaignId}`,
    );
    expect(row?.attempts).toBe(1);
  });

  it.each(['park', 'retry'] as const)('decides messages that were never answered: %s', async (unknownPolicy) => {
    await using server = await dropsOneContent();
    const world = await campaignWorld(ctx, {
      recipients: 40,
      smtpPort: server.port,
      campaign: { unknownPolicy },
      server: { connections: 1, window: 4 },
    });
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
    const balance = await balanceOf(world);
    expect(balance.sent + balance.unknown).toBe(40);
    if (unknownPolicy === 'retry') expect(balance.sent).toBe(40);
    else expect(balance.unknown).toBeGreaterThanOrEqual(1);
    expect(balance.unknown).toBeLessThanOrEqual(4);
  });

  it.each(['accept', 'resend'] as const)('lets its owner decide about parked messages: %s', async (decision) => {
    await using server = await dropsOneContent();
    const world = await campaignWorld(ctx, {
      recipients: 20,
      smtpPort: server.port,
      server: { connections: 1, window: 2 },
    });
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
    const { unknown } = await balanceOf(world);
    expect(unknown).toBeGreaterThanOrEqual(1);
    const acceptedBefore = server.accepted.length;
    expect(await decideUnknownDeliveries(world.ctx, world.campaignUid, decision)).toMatchObject({ decided: unknown });
    await untilStatus(world, 'done');
    expect(await balanceOf(world)).toMatchObject({ audience: 20, sent: 20, unknown: 0 });
    expect(server.accepted.length - acceptedBefore).toBe(decision === 'resend' ? unknown : 0);
    expect(await decideUnknownDeliveries(world.ctx, world.campaignUid, decision)).toMatchObject({ decided: 0 });
  });

  it('starts at its time and not before', async () => {
    await using server = await sink();
    const world = await campaignWorld(ctx, { recipients: 5, smtpPort: server.port });
    // Late enough that it is started before.
    const at = new Date(Date.now() + 5_000);
    await scheduleCampaign(world.ctx, world.campaignUid, at);
    expect(await statusOf(world)).toBe('scheduled');
    await untilStatus(world, 'done');
    expect(Date.now()).toBeGreaterThanOrEqual(at.getTime());
  });
});
