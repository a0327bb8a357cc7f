/**
 * A sender is killed in the middle, again and again (HARD-CASES A1 to A5, A9, A10, H15): nobody is lost, nobody who
 * is known to be served is served again, each second copy is explained, and the sums are right at every moment.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import {
  balanceOf,
  campaignWorld,
  copiesByRecipient,
  statusOf,
  untilStatus,
  type CampaignWorld,
} from '../support/campaign-world.ts';
import { expectBalanced, expectExplained } from '../support/ledger-checks.ts';
import { startProgram, type Program } from '../support/program.ts';
import { scriptedSmtpServer, type ScriptedServer } from '../support/scripted-smtp-server.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

const CONNECTIONS = 2;
const WINDOW = 4;
/** Messages in flight: the most that one kill may leave in doubt. */
const IN_FLIGHT = CONNECTIONS * WINDOW;
const RECIPIENTS = 2_000;

let ctx: TestContext;
beforeAll(async () => {
  ctx = await createTestContext();
  await loadPlugins(path.resolve('plugins'), ctx.hooks);
});

const startWorker = (settings: Record<string, string> = {}): Promise<Program> =>
  startProgram({
    DATABASE_URL: ctx.database.url,
    ROLES: 'worker,cron',
    SEND_LEASE_SECONDS: '3',
    SEND_BATCH_SIZE: '100',
    SEND_RETRY_DELAY_SECONDS: '1',
    WORKER_CONCURRENCY: '2',
    ...settings,
  });

const newWorld = (
  smtp: ScriptedServer,
  unknownPolicy: 'park' | 'retry',
  recipients = RECIPIENTS,
): Promise<CampaignWorld> =>
  campaignWorld(ctx, {
    recipients,
    smtpPort: smtp.port,
    server: { connections: CONNECTIONS, window: WINDOW },
    campaign: { unknownPolicy },
  });

async function untilAccepted(smtp: ScriptedServer, count: number, world: CampaignWorld): Promise<void> {
  while (smtp.accepted.length < count) {
    await expectBalanced(world);
    expect(await statusOf(world)).not.toBe('done');
    await sleep(5);
  }
}

describe.each(['park', 'retry'] as const)('kill -9 in the middle, policy %s', (policy) => {
  it('loses nobody and doubles only what was in flight', async () => {
    await using smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
    const world = await newWorld(smtp, policy);
    await startCampaign(world.ctx, world.campaignUid);
    const kills = 4;
    for (let kill = 1; kill <= kills; kill++) {
      const worker = await startWorker();
      await untilAccepted(smtp, (RECIPIENTS * kill) / (kills + 2), world);
      await worker.kill();
      await expectBalanced(world);
    }
    const survivor = await startWorker();
    await untilStatus(world, 'done');
    await survivor.stop();

    const balance = await balanceOf(world);
    const copies = copiesByRecipient(smtp.accepted);
    const doubled = [...copies.values()].filter((count) => count > 1).length;
    expect(balance.sent + balance.unknown).toBe(RECIPIENTS);
    expect(doubled).toBeLessThanOrEqual(policy === 'park' ? 0 : IN_FLIGHT * kills);
    expect(balance.unknown).toBeLessThanOrEqual(policy === 'park' ? IN_FLIGHT * kills : 0);
    await expectExplained(world, smtp.accepted);
  }, 900_000);
});

describe('a slow server', () => {
  /** Long enough for a process that has to wait for the processor. */
  const LEASE_SECONDS = 6;

  it('never causes a second copy: the lease is renewed while the dialogue lives', async () => {
    // Holds every final answer for more than twice the lease.
    const held: (() => void)[] = [];
    await using smtp = await scriptedSmtpServer({
      answer: ({ verb, session }) => {
        if (verb !== 'CONTENT') return undefined;
        held.push(() => session.socket.write('250 2.0.0 Ok\r\n'));
        return null;
      },
    });
    const world = await newWorld(smtp, 'retry', 3);
    const lease = { SEND_LEASE_SECONDS: String(LEASE_SECONDS) };
    const worker = await startWorker(lease);
    const other = await startWorker(lease);
    await startCampaign(world.ctx, world.campaignUid);
    const deadline = performance.now() + 100_000;
    while ((await statusOf(world)) !== 'done' && performance.now() < deadline) {
      await sleep(2_200 * LEASE_SECONDS);
      for (const answer of held.splice(0)) answer();
    }
    expect(await balanceOf(world)).toMatchObject({ audience: 3, sent: 3, unknown: 0 });
    const [row] = await queryRows<{ attempts: number; ambiguous: number }>(
      ctx.db,
      sql`SELECT max(attempts) AS attempts, max(ambiguous_count) AS ambiguous FROM hot.delivery WHERE source_id = ${world.campaignId}`,
    );
    expect(row).toEqual({ attempts: 1, ambiguous: 0 });
    await Promise.all([worker.kill(), other.kill()]);
  });
});

describe('two workers', () => {
  it('share one campaign without a double, and stop cleanly in the middle', async () => {
    await using smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
    const world = await newWorld(smtp, 'retry', RECIPIENTS);
    // Nobody is killed: no lease has to end soon, and a process that has to wait for the processor loses none.
    const lease = { SEND_LEASE_SECONDS: '45' };
    const [first, second] = await Promise.all([startWorker(lease), startWorker(lease)]);
    await startCampaign(world.ctx, world.campaignUid);
    await untilAccepted(smtp, 600, world);
    const { code, ms } = await first.stop();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(onBusyMachine(10_000));
    await untilStatus(world, 'done');
    await second.stop();
    expect(await balanceOf(world)).toMatchObject({ sent: RECIPIENTS, unknown: 0 });
    const copies = copiesByRecipient(smtp.accepted);
    expect(copies.size).toBe(RECIPIENTS);
    expect(Math.max(...copies.values())).toBe(1);
    const [stuck] = await queryRows<{ jobs: number; open: number }>(
      ctx.db,
      sql`SELECT (SELECT count(*)::int FROM graphile_worker._private_jobs WHERE locked_by IS NOT NULL) AS jobs,
                 (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction') AS open`,
    );
    expect(stuck).toEqual({ jobs: 0, open: 0 });
  });
});
