/**
 * Many customers on the same workers (HARD-CASES A21): the position at which somebody's messages leave, not the time.
 */
import { EventEmitter } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { pauseCampaign } from '../../src/domain/campaigns/pause-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { enqueue, enqueueMany } from '../../src/jobs/define-job.ts';
import { sendBatchJob } from '../../src/jobs/campaign-jobs.ts';
import { renumberPriorities, takePriorities } from '../../src/jobs/fair-queueing.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { Orphans } from '../../src/workers/orphans.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 50, snapshotBatchSize: 1_000 };
const ctx = await createTestContext({ installation: { ...testInstallation, limits } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
afterAll(() => drivers.close());

describe('workers with little room', () => {
  let worker: Awaited<ReturnType<typeof runWorker>>;
  beforeEach(async () => {
    const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
    worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 2, crontab: [] });
  });
  afterEach(() => worker.stop(10_000));

  it('send ten messages of one beside the first of ten thousand of another, through the same server', async () => {
    await using server = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
    const large = await campaignWorld(ctx, {
      recipients: 10_000,
      smtpPort: server.port,
      campaign: { fromEmail: 'a@large.example' },
    });
    const small = await campaignWorld(ctx, {
      recipients: 10,
      smtpPort: server.port,
      campaign: { fromEmail: 'b@small.example' },
    });
    await shareServer(large, small);
    const sentOf = (domain: string) => server.accepted.filter(({ from }) => from.endsWith(domain)).length;
    await startCampaign(large.ctx, large.campaignUid);
    await until(() => sentOf('large.example') > 200);
    const before = sentOf('large.example');
    await startCampaign(small.ctx, small.campaignUid);
    await until(() => sentOf('small.example') === 10);
    const meanwhile = sentOf('large.example') - before;
    await pauseCampaign(large.ctx, large.campaignUid);
    // First come first served, all ten thousand would have gone before.
    expect(meanwhile).toBeLessThan(3_000);
  });

  it('make room for a third customer while two slow servers hold all places', async () => {
    let asked = 0;
    const answer = ({ verb, session }: SmtpEvent) => {
      if (verb !== 'CONTENT') return undefined;
      asked += 1;
      // Slow enough that a busy machine has done with the third customer before a batch has ended.
      setTimeout(() => session.socket.write('250 at last\r\n'), 1_500);
      return null;
    };
    await using first = await scriptedSmtpServer({ answer });
    await using second = await scriptedSmtpServer({ answer });
    await using third = await scriptedSmtpServer();
    const server = { connections: 1, window: 1 };
    const worlds = [
      await campaignWorld(ctx, { recipients: 400, smtpPort: first.port, server }),
      await campaignWorld(ctx, { recipients: 400, smtpPort: second.port, server }),
      await campaignWorld(ctx, { recipients: 10, smtpPort: third.port, server }),
    ] as const;
    await startCampaign(worlds[0].ctx, worlds[0].campaignUid);
    await until(() => first.sessions.length > 0);
    await startCampaign(worlds[1].ctx, worlds[1].campaignUid);
    await until(() => second.sessions.length > 0);
    const before = asked;
    await startCampaign(worlds[2].ctx, worlds[2].campaignUid);
    await untilStatus(worlds[2], 'done');
    // A batch is 50 messages, and there are three places: without making space at least one batch would have ended.
    expect(asked - before).toBeLessThan(75);
    for (const world of worlds.slice(0, 2)) await pauseCampaign(world.ctx, world.campaignUid);
  });
});

describe('the line', () => {
  const batch = (customerId: bigint, fromId: bigint) => ({
    ...{ customerId: String(customerId), campaignId: '1', fromId: String(fromId), toId: String(fromId) },
  });
  const line = async (): Promise<string[]> => {
    const rows = await queryRows<{ customer: string }>(
      ctx.db,
      sql`SELECT payload ->> 'customerId' AS customer FROM graphile_worker._private_jobs
           WHERE is_available AND run_at <= now() ORDER BY priority, run_at, id`,
    );
    return rows.map(({ customer }) => customer);
  };
  const place = async (customerId: bigint, amount: number): Promise<void> => {
    const payloads = Array.from({ length: amount }, (_, index) => batch(customerId, BigInt(index + 1)));
    await enqueueMany(ctx.db, sendBatchJob, payloads);
  };
  beforeEach(async () => {
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await ctx.db.execute(sql`DELETE FROM hot.queue_priority`);
  });

  it('puts the first of a newcomer beside the first that waits, and follows on in turn', async () => {
    await place(901n, 500);
    await ctx.db.execute(
      sql`DELETE FROM graphile_worker._private_jobs WHERE id IN (SELECT id FROM graphile_worker._private_jobs ORDER BY priority LIMIT 100)`,
    );
    await place(902n, 3);
    await place(903n, 2);
    expect((await line()).slice(0, 9)).toEqual(['901', '902', '903', '901', '902', '903', '901', '902', '901']);
  });

  it('does not send what comes back to the end of its own line, and gives it no more than a second one', async () => {
    await place(901n, 500);
    for (let index = 0; index < 20; index += 1)
      await enqueue(ctx.db, sendBatchJob, batch(901n, 1_000n + BigInt(index)), { delaySeconds: 0 });
    await place(902n, 20);
    expect((await line()).slice(0, 60).filter((customer) => customer === '902')).toHaveLength(20);
    const [last] = await queryRows<{ place: number }>(
      ctx.db,
      sql`SELECT max(priority)::int AS place FROM graphile_worker._private_jobs WHERE (payload ->> 'fromId')::int >= 1000`,
    );
    expect(last?.place).toBe(20);
  });

  it('does not hold what was sent while nobody else waited against anybody', async () => {
    await place(901n, 500);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await place(902n, 2);
    await place(901n, 2);
    expect((await line()).slice(0, 3)).toContain('901');
  });

  it('begins to count anew in time, in the same order', async () => {
    await ctx.db.execute(sql`INSERT INTO hot.queue_priority (customer_id, planned) VALUES (905, 31000)`);
    await place(901n, 3);
    await place(902n, 2);
    const before = await line();
    expect(await renumberPriorities(ctx.database)).toBe(30_999);
    expect(await line()).toEqual(before);
    expect(await takePriorities(ctx.db, 901n, { amount: 2, kind: 'planned' })).toEqual([4, 5]);
    expect(await renumberPriorities(ctx.database)).toBe(0);
  });

  it('gives each turn once, however many take them at the same time', async () => {
    const taken = await Promise.all(
      Array.from({ length: 40 }, () => takePriorities(ctx.db, 901n, { amount: 5, kind: 'planned' })),
    );
    expect(new Set(taken.flat()).size).toBe(200);
  });
});

/** Both send through one server of the installation. */
async function shareServer(...worlds: readonly CampaignWorld[]): Promise<void> {
  const [first, ...others] = worlds;
  const customers = await Promise.all(
    worlds.map(async ({ campaignId }) => {
      const [row] = await queryRows<{ customerId: bigint }>(
        ctx.db,
        sql`SELECT customer_id AS "customerId" FROM campaign WHERE id = ${campaignId}`,
      );
      return row?.customerId ?? 0n;
    }),
  );
  expect(first && others.length > 0).toBe(true);
  await ctx.db.execute(sql`UPDATE sending_server SET is_system = true WHERE customer_id = ${customers[0]}`);
  await ctx.db.execute(sql`DELETE FROM sending_server WHERE customer_id = ANY(${customers.slice(1)}::bigint[])`);
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error('It does not happen.');
    await sleep(5);
  }
}

describe('jobs that never arrived', () => {
  it('are freed when they were seen twice, those that run are not', async () => {
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    await enqueueMany(
      ctx.db,
      sendBatchJob,
      [1n, 2n, 3n].map((id) => ({ customerId: '901', campaignId: '1', fromId: String(id), toId: String(id) })),
    );
    await ctx.db.execute(
      sql`UPDATE graphile_worker._private_jobs SET locked_by = 'mine', locked_at = now() WHERE payload ->> 'fromId' <> '3'`,
    );
    const [running] = await queryRows<{ id: string }>(
      ctx.db,
      sql`SELECT id::text AS id FROM graphile_worker._private_jobs WHERE payload ->> 'fromId' = '1'`,
    );
    const orphans = new Orphans();
    const events = new EventEmitter();
    orphans.listenTo(events);
    events.emit('pool:create', { workerPool: { id: 'mine' } });
    const isRunning = (id: string) => id === running?.id;
    expect(await orphans.free(ctx.database, isRunning)).toBe(0);
    expect(await orphans.free(ctx.database, isRunning)).toBe(1);
    const held = await queryRows(
      ctx.db,
      sql`SELECT id::text AS id FROM graphile_worker._private_jobs WHERE locked_by IS NOT NULL`,
    );
    expect(held).toEqual([{ id: running?.id }]);
  });
});
