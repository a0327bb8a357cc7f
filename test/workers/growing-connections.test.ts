/**
 * A sending server's connections grow by themselves, up to what the receiver takes: real receivers that refuse more than some
 * connections, as big ones do, or get slower with more; and two processes that share the number.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import {
  balanceOf,
  campaignWorld,
  copiesByRecipient,
  untilStatus,
  type CampaignWorld,
} from '../support/campaign-world.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer, type ScriptedServer, type SmtpSession } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const ctx = await createTestContext({
  installation: { ...testInstallation, limits: { ...testInstallation.limits, sendBatchSize: 100 } },
});
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);

/** Sends in this process until the tests of a group are over. */
async function startWorker() {
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 4, crontab: [] });
  return async () => {
    await worker.stop(5_000);
    await drivers.close();
  };
}

interface Receiver extends ScriptedServer {
  /** Sessions that were not refused. */
  open(): number;
  /** The most there were since this was last asked. */
  takeMost(): number;
  refusals(): number;
}

interface ReceiverOptions {
  /** Refuses further connections with 421. */
  readonly sessionsMax?: number;
  /** When it refuses: at the greeting, or at the first MAIL, as some do. */
  readonly refusesAt?: 'CONNECT' | 'MAIL';
  readonly delayMs: (sessions: number) => number;
}

async function startReceiver({
  sessionsMax = Infinity,
  refusesAt = 'CONNECT',
  delayMs,
}: ReceiverOptions): Promise<Receiver> {
  const open = new Set<SmtpSession>();
  let most = 0;
  let refusals = 0;
  const server = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    answer({ verb, session }) {
      if (verb !== refusesAt || open.has(session)) return undefined;
      if (open.size >= sessionsMax) {
        refusals += 1;
        session.socket.end('421 4.7.0 Too many concurrent connections from you\r\n');
        return null;
      }
      open.add(session);
      most = Math.max(most, open.size);
      session.socket.on('close', () => open.delete(session));
      return undefined;
    },
    write: (reply, { socket }) => void setTimeout(() => socket.write(reply), delayMs(open.size)),
  });
  return Object.assign(server, {
    open: () => open.size,
    takeMost: () => {
      const seen = most;
      most = open.size;
      return seen;
    },
    refusals: () => refusals,
  });
}

/** So long that what a busy machine can send is no bound: more connections send more, up to what the receiver takes. */
const REPLY_MS = 200;

async function connectionsOf(world: CampaignWorld): Promise<number> {
  const [row] = await queryRows<{ connections: number }>(
    world.ctx.db,
    sql`SELECT c.connections FROM hot.sending_connections c JOIN sending_server s ON s.id = c.server_id
         JOIN campaign g ON g.customer_id = s.customer_id WHERE g.id = ${world.campaignId}`,
  );
  return row?.connections ?? 0;
}

/** The numbers while the campaign is sent. */
async function numbersUntilDone(world: CampaignWorld): Promise<number[]> {
  const numbers: number[] = [];
  const abort = new AbortController();
  const watching = (async () => {
    for (; !abort.signal.aborted; await sleep(50)) numbers.push(await connectionsOf(world));
  })();
  await untilStatus(world, 'done').finally(() => abort.abort());
  await watching;
  return numbers;
}

function expectOnce(server: ScriptedServer, recipients: number): void {
  const copies = copiesByRecipient(server.accepted);
  expect(copies.size).toBe(recipients);
  expect(Math.max(...copies.values())).toBe(1);
}

describe('the connections of a server', async () => {
  const stop = await startWorker();
  afterAll(stop);

  it('grow from two to its largest number', async () => {
    await using server = await startReceiver({ delayMs: () => REPLY_MS });
    const world = await campaignWorld(ctx, {
      recipients: 1_500,
      smtpPort: server.port,
      server: { connections: 8, grownTo: 2, window: 4 },
    });
    await startCampaign(world.ctx, world.campaignUid);
    const numbers = await numbersUntilDone(world);
    expect(numbers[0]).toBeLessThan(8);
    expect(await connectionsOf(world)).toBe(8);
    expect(server.takeMost()).toBe(8);
    expectOnce(server, 1_500);
  });

  it.each([
    { refusesAt: 'CONNECT', recipients: 1_500 },
    { refusesAt: 'MAIL', recipients: 1_000 },
  ] as const)('settle at what a receiver takes that says 421 at $refusesAt', async ({ refusesAt, recipients }) => {
    await using server = await startReceiver({ sessionsMax: 6, refusesAt, delayMs: () => REPLY_MS });
    const world = await campaignWorld(ctx, {
      recipients,
      smtpPort: server.port,
      server: { connections: 20, grownTo: 2, window: 4 },
    });
    await startCampaign(world.ctx, world.campaignUid);
    await expect.poll(() => server.refusals(), { timeout: 120_000 }).toBeGreaterThan(0);
    await untilStatus(world, 'done');
    expect(await connectionsOf(world)).toBeGreaterThanOrEqual(2);
    expect(await connectionsOf(world)).toBeLessThanOrEqual(7);
    expect(server.takeMost()).toBeLessThanOrEqual(6);
    // Each growth too far costs a refusal or two, and the next one comes later and later.
    expect(server.refusals()).toBeLessThanOrEqual(20);
    expect(await balanceOf(world)).toMatchObject({ audience: recipients, sent: recipients, unknown: 0 });
    expectOnce(server, recipients);
  });

  it('stay few where more of them are slower', async () => {
    await using server = await startReceiver({ delayMs: (sessions) => (sessions <= 4 ? 20 : 4 * sessions ** 2) });
    const world = await campaignWorld(ctx, {
      recipients: 1_000,
      smtpPort: server.port,
      server: { connections: 20, grownTo: 2, window: 4 },
    });
    await startCampaign(world.ctx, world.campaignUid);
    const numbers = await numbersUntilDone(world);
    expect(Math.max(...numbers)).toBeGreaterThanOrEqual(4);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(8);
    expectOnce(server, 1_000);
  });
});

describe('two processes', () => {
  const MAX = 6;

  it('stay together within the number, and a killed one leaves its share to the other', async () => {
    // Slow until all has been seen: a busy machine takes as long as some thousands of messages to start the second one.
    let delayMs = 300;
    await using server = await startReceiver({ delayMs: () => delayMs });
    const recipients = 6_000;
    const world = await campaignWorld(ctx, {
      recipients,
      smtpPort: server.port,
      server: { connections: MAX, window: 4 },
      campaign: { unknownPolicy: 'retry' },
    });
    await startCampaign(world.ctx, world.campaignUid);
    const settings = {
      DATABASE_URL: ctx.database.url,
      SEND_BATCH_SIZE: '100',
      SEND_LEASE_SECONDS: '3',
      SEND_RETRY_DELAY_SECONDS: '1',
      WORKER_CONCURRENCY: '2',
    };
    const first = await startProgram({ ...settings, ROLES: 'worker,cron' });
    await expect.poll(() => server.open(), { timeout: 120_000 }).toBe(MAX);
    const before = new Set(server.sessions);
    const second = await startProgram({ ...settings, ROLES: 'worker' });
    // Sessions of the second one: the first ends some of its own and opens none.
    const isNew = (session: SmtpSession): boolean => !before.has(session) && !session.socket.destroyed;
    await expect.poll(() => server.sessions.filter(isNew).length, { timeout: 120_000 }).toBeGreaterThanOrEqual(MAX / 2);
    // It joins with one connection, until the first has ended those that are too many.
    expect(server.takeMost()).toBeLessThanOrEqual(MAX + 1);
    await expect.poll(() => server.open(), { timeout: 120_000 }).toBeLessThanOrEqual(MAX);
    server.takeMost();
    const accepted = server.accepted.length;
    await expect.poll(() => server.accepted.length, { timeout: 120_000 }).toBeGreaterThan(accepted + 200);
    expect(server.takeMost()).toBeLessThanOrEqual(MAX);

    await second.kill();
    await expect.poll(() => server.open(), { timeout: 120_000 }).toBeLessThanOrEqual(MAX / 2);
    await expect.poll(() => server.open(), { timeout: 120_000 }).toBe(MAX);
    delayMs = 1;
    await untilStatus(world, 'done');
    await first.stop();
    expect(copiesByRecipient(server.accepted).size).toBe(recipients);
    expect(await balanceOf(world)).toMatchObject({ audience: recipients, sent: recipients });
  }, 900_000);
});
