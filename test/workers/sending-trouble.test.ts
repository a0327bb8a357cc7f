/** Sending when something is in the way: a server down, full or not to be opened, clocks that differ, hasty pauses. */
import { describe, expect, it } from 'vitest';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { pauseCampaign } from '../../src/domain/campaigns/pause-campaign.ts';
import { snapshotAudience } from '../../src/domain/campaigns/snapshot-audience.ts';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import type { Context } from '../../src/domain/context.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { newUid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { SendingError } from '../../src/plugin-api/index.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { afterFile } from '../support/after-file.ts';
import { balanceOf, campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { ledgerOfCampaign } from '../../src/domain/delivery/ledger/delivery.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const RECIPIENTS = 500;
const limits = { ...testInstallation.limits, sendBatchSize: 50 };
const logged: string[] = [];
const log = createLog({ level: 'warn', format: 'json', write: (line) => void logged.push(line) });
const ctx = await createTestContext({ installation: { ...testInstallation, limits }, log });
await loadPlugins(path.resolve('plugins'), ctx.hooks);

function newTools() {
  const drivers = createDriverPool(ctx.hooks);
  afterFile(() => drivers.close());
  return { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
}

/** Plays the campaign with a worker of its own for as long as `watch` takes. */
async function withWorker(watch: () => Promise<void>): Promise<void> {
  const worker = await runWorker({
    ctx,
    tasks: [snapshotTask, sendBatchTask(newTools())],
    concurrency: 2,
    crontab: [],
  });
  try {
    await watch();
  } finally {
    await worker.stop(5_000);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
  }
}

/** How often rows of its ledger were leased, all told. */
async function leasesOf({ campaignId }: CampaignWorld): Promise<number> {
  const [row] = await queryRows<{ leases: number }>(
    ctx.db,
    sql`SELECT sum(epoch)::int AS leases FROM hot.delivery WHERE source_id = ${campaignId}`,
  );
  return row?.leases ?? 0;
}

describe('many batches before one server', () => {
  it('do not take turns at leasing everything while its pace is reached', async () => {
    await using server = await scriptedSmtpServer();
    const world = await campaignWorld(ctx, {
      recipients: RECIPIENTS,
      smtpPort: server.port,
      server: { quotaValue: 2, quotaBase: 1, quotaUnit: 'second' },
    });
    await withWorker(async () => {
      await startCampaign(world.ctx, world.campaignUid);
      // Some seconds of its pace.
      await expect.poll(() => server.accepted.length).toBeGreaterThanOrEqual(12);
      expect(await leasesOf(world)).toBeLessThan(2 * RECIPIENTS);
    });
  });

  it('leave a server alone that is down', async () => {
    await using server = await scriptedSmtpServer({
      answer: ({ verb }) => (verb === 'CONNECT' ? '421 4.3.2 closing' : undefined),
    });
    const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: server.port });
    const [sick] = await queryRows<{ server: string; name: string }>(
      ctx.db,
      sql`SELECT uid AS server, name FROM sending_server ORDER BY id DESC LIMIT 1`,
    );
    const said = () =>
      z
        .looseObject({ event: z.string() })
        .array()
        .parse(logged.map((line): unknown => JSON.parse(line)));
    // The server of the test before may have gone in the middle of a message.
    const unavailable = { event: 'delivery.server_unavailable', ...sick };
    await withWorker(async () => {
      await startCampaign(world.ctx, world.campaignUid);
      await expect.poll(said).toContainEqual(expect.objectContaining(unavailable));
      await sleep(6_000);
      expect(await leasesOf(world)).toBeLessThan(RECIPIENTS);
    });
  });
});

describe('a campaign', () => {
  it('goes on when its server is back, however often a try found it down', async () => {
    // Three refusals open the breaker; the next session is a try, of one message.
    const REFUSED = 4;
    await using server = await scriptedSmtpServer({
      answer: ({ verb, session }) => (verb === 'CONNECT' && session.index < REFUSED ? '421 4.3.2 closing' : undefined),
    });
    const world = await campaignWorld(ctx, { recipients: 100, smtpPort: server.port, server: { connections: 1 } });
    await withWorker(async () => {
      await startCampaign(world.ctx, world.campaignUid);
      await expect.poll(() => server.sessions.length, { timeout: 120_000 }).toBeGreaterThan(REFUSED);
      await untilStatus(world, 'done');
    });
    expect(await balanceOf(world)).toMatchObject({ audience: 100, sent: 100 });
  }, 300_000);

  it('that is resumed while its last messages are still in flight goes on at once', async () => {
    // Two connections, one slow: the fast one notices the pause, the slow one keeps the batch until after the resume.
    await using server = await scriptedSmtpServer({
      answer: ({ verb, session }) => {
        if (verb !== 'CONTENT') return undefined;
        setTimeout(() => session.socket.write('250 2.0.0 Ok\r\n'), session.index === 1 ? 800 : 40);
        return null;
      },
    });
    const world = await campaignWorld(ctx, {
      recipients: 50,
      smtpPort: server.port,
      server: { connections: 2, window: 1 },
    });
    await withWorker(async () => {
      await startCampaign(world.ctx, world.campaignUid);
      while ((await balanceOf(world)).sent < 3) await sleep(5);
      await pauseCampaign(world.ctx, world.campaignUid);
      await sleep(150);
      await resumeCampaign(world.ctx, world.campaignUid);
      await untilStatus(world, 'done');
    });
    expect(await balanceOf(world)).toMatchObject({ audience: 50, sent: 50 });
    expect(server.lines.filter((line) => line.startsWith('RCPT'))).toHaveLength(50);
  });
});

describe('a batch', () => {
  async function plannedWorld(clock: Context['clock'] = ctx.clock) {
    const world = await campaignWorld(ctx, { recipients: 3, smtpPort: 9 });
    const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
    await startCampaign(world.ctx, world.campaignUid);
    await snapshotAudience(world.ctx, key, new AbortController().signal);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    const shared = newTools();
    const send = (workerId: string = crypto.randomUUID(), own: Context = ctx) =>
      sendBatch(
        { ...own, clock },
        { ...key, fromId: 0n, toId: 2n ** 62n },
        { ...shared, workerId, abortSignal: new AbortController().signal },
      );
    return { world, key, send, drivers: shared.drivers, lockRange: shared.campaigns.lockRange };
  }

  it('is left to the job of the same process that works on it already', async () => {
    const { world, send, lockRange } = await plannedWorld();
    const [row] = await queryRows<{ day: string }>(
      ctx.db,
      sql`SELECT snapshot_on::text AS day FROM campaign WHERE id = ${world.campaignId}`,
    );
    const key = ledgerOfCampaign({ snapshotOn: row?.day ?? '', customerId: 0n, campaignId: world.campaignId });
    const jobs = async (workerId: string) => [await send(workerId), (await secondsToNextJob()).length];
    lockRange('all', { ...key, fromId: 0n, toId: 2n ** 62n });
    expect(await jobs('all')).toEqual(['open', 0]);
    // Of a part the rest has nobody else.
    lockRange('part', { ...key, fromId: 2n ** 62n, toId: 2n ** 62n });
    expect(await jobs('part')).toEqual(['open', 1]);
  });

  async function secondsToNextJob(): Promise<number[]> {
    const rows = await queryRows<{ seconds: number }>(
      ctx.db,
      sql`SELECT extract(epoch FROM run_at - now())::float8 AS seconds FROM graphile_worker._private_jobs`,
    );
    return rows.map(({ seconds }) => seconds);
  }

  it('that got a server before its rest was known soon asks the other one, also while a job beside it still reads the old state', async () => {
    const { world, key, send, drivers } = await plannedWorld();
    await ctx.db.execute(
      sql`INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max)
          VALUES (${key.customerId}, ${newUid()}, 'Another', 'smtp', '{"host": "127.0.0.1", "port": 9, "encryption": "none"}', 2)`,
    );
    const [hasChosen, otherHasRead, isWritten] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    let choices = 0;
    const database: Context['database'] = {
      ...ctx.database,
      async query(columns, statement, name) {
        if (name === 'sending.sync-health') {
          await otherHasRead.promise;
          const rows = await ctx.database.query(columns, statement, name);
          isWritten.resolve();
          return rows;
        }
        const rows = await ctx.database.query(columns, statement, name);
        if (name !== 'sending.choose-server') return rows;
        choices += 1;
        if (choices === 1) hasChosen.resolve();
        if (choices === 2) {
          otherHasRead.resolve();
          await isWritten.promise;
          // Its answer is late.
          await sleep(100);
        }
        return rows;
      },
    };
    const slow = { ...ctx, db: database, database };
    const ill = await drivers.channelFor(ctx, key.customerId, key.campaignId);
    await ill?.gate.denial(ctx, key.customerId);
    const reply = '421 4.7.0 Daily user sending limit exceeded. gsmtp';
    const limit = new SendingError('unavailable', reply, { code: 421, enhancedStatus: '4.7.0' });
    ill?.gate.judgeOutcome(slow, 'example.org', limit);
    const first = send('one', slow);
    await hasChosen.promise;
    expect(await Promise.all([first, send('other', slow)])).toEqual(['open', 'open']);
    const seconds = await secondsToNextJob();
    expect(seconds).toHaveLength(2);
    expect(Math.max(...seconds)).toBeLessThan(5);
    expect(await balanceOf(world)).toMatchObject({ queued: 3 });
  });

  it.each([-3_600_000, 3_600_000])(
    'comes again by the clock of the database, whatever its own says (%i ms off)',
    async (offMs) => {
      const { world, send } = await plannedWorld({ now: () => new Date(Date.now() + offMs) });
      await ctx.db.execute(
        sql`UPDATE sending_server SET status = 'inactive' WHERE customer_id = ${world.ctx.viewer?.customerId}`,
      );
      expect(await send()).toBe('open');
      const [seconds = 0] = await secondsToNextJob();
      expect(seconds).toBeGreaterThan(10);
      expect(seconds).toBeLessThan(20);
    },
  );

  it.each([
    ['whose driver nobody provides', sql`type = 'gone'`],
    ['whose secrets are sealed with another key', sql`sealed_settings = '\\x00'::bytea`],
  ])('waits for a server %s', async (_what, fault) => {
    const { world, send } = await plannedWorld();
    await ctx.db.execute(sql`UPDATE sending_server SET ${fault} WHERE customer_id = ${world.ctx.viewer?.customerId}`);
    expect(await send()).toBe('open');
    expect(await secondsToNextJob()).toHaveLength(1);
    expect(await balanceOf(world)).toMatchObject({ queued: 3 });
  });
});
