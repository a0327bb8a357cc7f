/** What a plan lets a customer send, in this process: exact over workers and campaigns, waiting and going on (D37, E20). */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { allowanceOf } from '../../src/domain/billing/plans/allowance.ts';
import { createCampaign } from '../../src/domain/campaigns/create-campaign.ts';
import { deleteCampaign } from '../../src/domain/campaigns/delete-campaign.ts';
import { reviveCampaigns } from '../../src/domain/campaigns/revive-campaigns.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { wakeCampaign, wakeCampaigns } from '../../src/domain/campaigns/wait-for-plan.ts';
import { viewerOf, type Context } from '../../src/domain/context.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { leaseSends, returnLease, sendUsage } from '../../src/domain/sending/send-budget-store.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { proveLiveness } from '../../src/workers/liveness.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { wakeCampaignTask } from '../../src/workers/tasks/maintenance.ts';
import { snapshotTask, startScheduledCampaignTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, statusOf, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { changeOptions, endPlan, givePlan } from '../support/plans.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { SOURCE_KINDS } from '../../src/domain/source-key.ts';
import { storedReason } from '../support/stored-reason.ts';

const limits = { ...testInstallation.limits, sendBatchSize: 30, snapshotBatchSize: 100, sendRetryDelaySeconds: 1 };
const ctx = await createTestContext({ installation: { ...testInstallation, limits } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const liveness = await proveLiveness(ctx.database, ctx.log);
const worksHere = await Promise.all(
  [1, 2, 3].map(async () => {
    const drivers = createDriverPool(ctx.hooks);
    const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
    const tasks = [snapshotTask, startScheduledCampaignTask, wakeCampaignTask, sendBatchTask(tools)];
    return { drivers, worker: await runWorker({ ctx, tasks, concurrency: 2, crontab: [] }) };
  }),
);
afterAll(async () => {
  await Promise.all(worksHere.map(({ worker }) => worker.stop(5_000)));
  await Promise.all(worksHere.map(({ drivers }) => drivers.close()));
  await liveness.release();
});

const sink = (refuses: (to: string) => boolean = () => false) =>
  scriptedSmtpServer({
    extensions: ['PIPELINING', '8BITMIME'],
    answer: ({ verb, line }) => (verb === 'RCPT' && refuses(line) ? '550 5.1.1 No such user' : undefined),
  });

/** Several campaigns to the same people, and a plan. */
async function worldWithPlan(
  port: number,
  { recipients, campaigns, options }: { recipients: number; campaigns: number; options: Record<string, string> },
): Promise<{ worlds: CampaignWorld[]; customerId: bigint; tenant: Context }> {
  const first = await campaignWorld(ctx, { recipients, smtpPort: port });
  const tenant = first.ctx;
  const { customerId } = viewerOf(tenant);
  const [list] = await queryRows<{ uid: string }>(ctx.db, sql`SELECT uid FROM mail_list WHERE id = ${first.listId}`);
  const worlds = [first];
  for (let n = 2; n <= campaigns; n++) {
    const words = { name: `News ${n}`, subject: 'Hi', fromEmail: 'news@sender.example', fromName: 'Sender' };
    const { uid } = await createCampaign(tenant, { listUid: list?.uid ?? '', html: '<p>Hi</p>', ...words });
    const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
    worlds.push({ ...first, campaignUid: uid, campaignId: row?.id ?? 0n });
  }
  await givePlan(ctx.db, customerId, { sending_server_option: 'own', ...options });
  return { worlds, customerId, tenant };
}

interface Standing {
  status: string;
  waitsUntil: Date | null;
  reason: string | null;
}

async function standing({ campaignId }: CampaignWorld): Promise<Standing> {
  const [row] = await queryRows<{ status: string; waitsUntil: Date | null }>(
    ctx.db,
    sql`SELECT status, wait_until AS "waitsUntil" FROM campaign WHERE id = ${campaignId}`,
  );
  const reason = await storedReason(ctx.db, campaignId);
  return row ? { ...row, reason } : { status: 'gone', waitsUntil: null, reason };
}

/** Until every campaign waits for its plan, or came through before the others, and no job of theirs is left but those that wake or tell of refusals. */
async function untilWaiting(worlds: readonly CampaignWorld[]): Promise<void> {
  const ids = worlds.map(({ campaignId }) => campaignId);
  await expect
    .poll(
      async () => {
        const [row] = await queryRows<{ waiting: number; jobs: number }>(
          ctx.db,
          sql`SELECT (SELECT count(*)::int FROM campaign WHERE id = ANY(${ids}::bigint[]) AND (coalesce(nullif(wait_kind, 'budget_in_use'), reason_code) IS NOT NULL OR status = 'done')) AS waiting,
                     (SELECT count(*)::int FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
                       WHERE t.identifier NOT IN ('campaigns.wake', 'bounces.record-refusals') AND (j.payload ->> 'campaignId')::bigint = ANY(${ids}::bigint[])) AS jobs`,
        );
        return row;
      },
      { timeout: 120_000, interval: 50 },
    )
    .toEqual({ waiting: ids.length, jobs: 0 });
}

async function handedOver(worlds: readonly CampaignWorld[]): Promise<number> {
  const balances = await Promise.all(worlds.map(balanceOf));
  return balances.reduce((sum, { sent, unknown }) => sum + sent + unknown, 0);
}

const usageOf = async (customerId: bigint) => sendUsage(ctx.db, customerId, await allowanceOf(ctx.db, customerId));

describe('credits', () => {
  it('are spent to the last one and no further by three workers and three campaigns; refused mail costs none', async () => {
    await using server = await sink((to) => /p\d*7@/.test(to));
    const options = { email_max: '400' };
    const { worlds, customerId } = await worldWithPlan(server.port, { recipients: 210, campaigns: 3, options });
    for (const world of worlds) await startCampaign(world.ctx, world.campaignUid);
    await untilWaiting(worlds);
    expect(await handedOver(worlds)).toBe(400);
    expect(server.accepted).toHaveLength(400);
    expect(await usageOf(customerId)).toMatchObject({ creditsUsed: 400, creditsMax: 400, reserved: 0 });
    const waiting = (await Promise.all(worlds.map(standing))).filter(({ status }) => status !== 'done');
    expect(waiting.length).toBeGreaterThan(0);
    for (const { status, waitsUntil, reason } of waiting) {
      expect(status).toBe('sending');
      expect(waitsUntil?.getTime()).toBeGreaterThan(Date.now() + 20 * 86_400_000);
      expect(reason).toMatch(/^The 400 emails of the plan's billing period are used up: sending continues at 20\d\d-/);
    }
    // The safety net does not mistake waiting for standing still.
    expect(await reviveCampaigns(ctx)).toBe(0);
    expect(await wakeCampaigns(ctx)).toBe(0);
    // More credits, and what waited goes on by itself: 3 campaigns of 189 who do not refuse.
    await changeOptions(ctx.db, customerId, { email_max: '567' });
    expect(await wakeCampaigns(ctx)).toBe(waiting.length);
    for (const world of worlds) await untilStatus(world, 'done');
    expect(server.accepted).toHaveLength(567);
    // A batch gives back what it had reserved a moment after its last message.
    await expect.poll(() => usageOf(customerId)).toMatchObject({ creditsUsed: 567, reserved: 0 });
    expect(await handedOver(worlds)).toBe(567);
    // Deleting a campaign gives nothing back.
    await deleteCampaign(worlds[0]?.ctx ?? ctx, worlds[0]?.campaignUid ?? '');
    expect(await usageOf(customerId)).toMatchObject({ creditsUsed: 567 });
  });

  it('come back with a new period', async () => {
    await using server = await sink();
    const options = { email_max: '40' };
    const { worlds, customerId } = await worldWithPlan(server.port, { recipients: 100, campaigns: 1, options });
    const [world] = worlds;
    if (!world) throw new Error('There is one.');
    await startCampaign(world.ctx, world.campaignUid);
    await untilWaiting(worlds);
    // Moving its end is no new period.
    await ctx.db.execute(
      sql`UPDATE subscription SET current_period_ends_at = now() + interval '3 days' WHERE customer_id = ${customerId}`,
    );
    expect(await wakeCampaigns(ctx)).toBe(0);
    await ctx.db.execute(
      sql`UPDATE subscription SET current_period_started_at = now(), current_period_ends_at = now() + interval '1 month' WHERE customer_id = ${customerId}`,
    );
    expect(await wakeCampaigns(ctx)).toBe(1);
    await untilWaiting(worlds);
    expect(server.accepted).toHaveLength(80);
    expect(await usageOf(customerId)).toMatchObject({ creditsUsed: 40 });
  });
});

describe('the sending quota', () => {
  it('delays, says until when, and has room again when its messages have left the window', async () => {
    await using server = await sink();
    const options = { sending_quota: '70', sending_quota_time: '2', sending_quota_time_unit: 'hour' };
    const { worlds, customerId } = await worldWithPlan(server.port, { recipients: 100, campaigns: 2, options });
    for (const world of worlds) await startCampaign(world.ctx, world.campaignUid);
    await untilWaiting(worlds);
    expect(server.accepted).toHaveLength(70);
    const { quotaEndsAt } = await usageOf(customerId);
    const [world] = worlds;
    if (!world) throw new Error('There is one.');
    const { waitsUntil, reason } = await standing(world);
    expect(waitsUntil).toEqual(quotaEndsAt);
    expect(reason).toMatch(/^The plan's sending quota of 70 emails in 2 hours is used up: sending continues at /);
    const [job] = await queryRows<{ runAt: Date }>(
      ctx.db,
      sql`SELECT run_at AS "runAt" FROM graphile_worker.jobs WHERE key = ${`campaigns.wake:${world.campaignId}`}`,
    );
    expect(job?.runAt.getTime()).toBe(waitsUntil?.getTime());
    // Two hours later.
    await ctx.db.execute(
      sql`UPDATE hot.send_budget SET quota_times = ARRAY(SELECT t - interval '2 hours' FROM unnest(quota_times) t) WHERE customer_id = ${customerId}`,
    );
    for (const one of worlds) await wakeCampaign(ctx, { customerId, campaignId: one.campaignId });
    await untilWaiting(worlds);
    expect(server.accepted).toHaveLength(140);
  });
});

describe('a subscription that ended', () => {
  it('pauses what is being sent and lets nothing start', async () => {
    await using server = await sink();
    const options = { email_max: '30' };
    const { worlds, customerId, tenant } = await worldWithPlan(server.port, { recipients: 50, campaigns: 2, options });
    const [running, fresh] = worlds;
    if (!running || !fresh) throw new Error('There are two.');
    await startCampaign(tenant, running.campaignUid);
    await untilWaiting([running]);
    await endPlan(ctx.db, customerId);
    expect(await wakeCampaigns(ctx)).toBe(1);
    await untilStatus(running, 'paused');
    expect((await standing(running)).reason).toMatch(/^The subscription has ended\./);
    const refusal = { code: 'SUBSCRIPTION_ENDED' };
    await expect(startCampaign(tenant, running.campaignUid)).rejects.toMatchObject(refusal);
    await expect(startCampaign(tenant, fresh.campaignUid)).rejects.toMatchObject(refusal);
    expect(await statusOf(fresh)).toBe('ready');
    expect(server.accepted).toHaveLength(30);
    await givePlan(ctx.db, customerId, { sending_server_option: 'own' });
    await startCampaign(tenant, running.campaignUid);
    await untilStatus(running, 'done');
    expect(server.accepted).toHaveLength(50);
  });
});

describe('leases', () => {
  // A day that has a partition.
  const snapshotOn = new Date().toISOString().slice(0, 10);
  const range = { snapshotOn, sourceKind: SOURCE_KINDS.campaign, sourceId: 1n, fromId: 1n, toId: 1_000n };
  const lease = async (customerId: bigint, workerId: string, wanted: number) => {
    const allowance = await allowanceOf(ctx.db, customerId);
    return leaseSends(ctx.db, { range: { ...range, customerId }, allowance, workerId, wanted });
  };
  const customer = async (options: Record<string, string>): Promise<bigint> => {
    const [row] = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`INSERT INTO customer (uid, name) VALUES (${randomUUID()}, 'x') RETURNING id`,
    );
    await givePlan(ctx.db, row?.id ?? 0n, options);
    return row?.id ?? 0n;
  };
  const livingWorker = async (): Promise<string> => {
    const id = randomUUID();
    await liveness.hold(id);
    return id;
  };

  it('of 100 parallel jobs never go beyond the budget, not by one', async () => {
    const customerId = await customer({ email_max: '500', sending_quota: '333' });
    const workerId = await livingWorker();
    const leases = await Promise.all(Array.from({ length: 100 }, () => lease(customerId, workerId, 7)));
    expect(leases.reduce((sum, { granted }) => sum + granted, 0)).toBe(333);
    expect(new Set(leases.map(({ refusal }) => refusal))).toEqual(new Set([null, 'held']));
  });

  it('are as many at once as the plan has processes', async () => {
    const customerId = await customer({ max_process: '3' });
    const workerId = await livingWorker();
    const leases = await Promise.all(Array.from({ length: 50 }, () => lease(customerId, workerId, 7)));
    expect(leases.filter(({ granted }) => granted === 7)).toHaveLength(3);
    expect(leases.filter(({ refusal }) => refusal === 'processes')).toHaveLength(47);
    const [mine] = leases.flatMap(({ sliceId }) => (sliceId === null ? [] : [sliceId]));
    const allowance = await allowanceOf(ctx.db, customerId);
    await returnLease(ctx.db, customerId, { id: mine ?? 0n, isBroken: false, allowance });
    expect((await lease(customerId, workerId, 7)).granted).toBe(7);
  });

  it('of a killed worker come back, except for what it had begun until that is decided', async () => {
    const customerId = await customer({ email_max: '100' });
    const dead = randomUUID();
    expect((await lease(customerId, dead, 100)).granted).toBe(100);
    await ctx.db.execute(
      sql`INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, owner, email)
          SELECT ${range.snapshotOn}::date, ${customerId}, 1, 1, n, CASE WHEN n <= 4 THEN 'sending' ELSE 'leased' END::hot.delivery_state, ${dead}::uuid, 'x'
            FROM generate_series(1, 10) n`,
    );
    const living = await livingWorker();
    const second = await lease(customerId, living, 100);
    expect(second.granted).toBe(96);
    const [row] = await queryRows<{ queued: number }>(
      ctx.db,
      sql`SELECT count(*)::int AS queued FROM hot.delivery WHERE customer_id = ${customerId} AND state = 'queued' AND owner IS NULL`,
    );
    expect(row?.queued).toBe(6);
    await ctx.db.execute(sql`DELETE FROM hot.delivery WHERE customer_id = ${customerId}`);
    expect((await lease(customerId, living, 100)).granted).toBe(4);
  });

  it('that a living worker forgot come back, those that it works on do not', async () => {
    const customerId = await customer({ email_max: '100' });
    const living = await livingWorker();
    expect((await lease(customerId, living, 100)).granted).toBe(100);
    const older = sql`UPDATE hot.send_slice SET leased_at = now() - interval '1 hour' WHERE customer_id = ${customerId}`;
    await ctx.db.execute(older);
    await ctx.db.execute(
      sql`INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, owner, email)
          VALUES (${range.snapshotOn}::date, ${customerId}, 1, 1, 1, 'leased', ${living}::uuid, 'x')`,
    );
    expect((await lease(customerId, living, 100)).refusal).toBe('held');
    await ctx.db.execute(sql`UPDATE hot.delivery SET state = 'sent' WHERE customer_id = ${customerId}`);
    expect((await lease(customerId, living, 100)).granted).toBe(100);
  });
});
