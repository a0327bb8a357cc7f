/**
 * What exactness costs: the product's sending loop with its ledger, beside the same loop that writes down what became of
 * a batch of 500 in one commit at its end. That one cannot tell after a crash who of them got the message. Both in this
 * process, in turns, to the same receiver; planning is not in the time.
 *
 *   node bench/ledger-cost.ts [--smoke] [--recipients 40000] [--repeat 5]
 */
import { parseArgs } from 'node:util';
import { queryRows } from '../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../src/db/database.ts';
import { snapshotAudience } from '../src/domain/campaigns/snapshot-audience.ts';
import type { Context } from '../src/domain/context.ts';
import { findRecipients } from '../src/domain/delivery/campaigns/lease-recipients.ts';
import type { DeliveryOutcome } from '../src/domain/delivery/ledger/delivery.ts';
import { createActiveCampaigns, type CampaignInHand } from '../src/domain/delivery/campaigns/active-campaign.ts';
import { settle } from '../src/domain/delivery/ledger/ledger-store.ts';
import type { OutcomeRecorder } from '../src/domain/delivery/campaigns/outcome-recorder.ts';
import { runSendingLoop } from '../src/domain/delivery/campaigns/sending-loop.ts';
import { createDriverPool, type SendingChannel } from '../src/domain/sending/driver-pool.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLog } from '../src/lib/log.ts';
import { createHookBus } from '../src/plugin-host/hook-bus.ts';
import { loadPlugins } from '../src/plugin-host/load-plugins.ts';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openBenchTenant, type BenchTenant } from './support/bench-tenant.ts';
import { median } from './support/median.ts';
import { BENCH_SECRET, startProduct } from './support/product.ts';
import { startBenchSink, type BenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    repeat: { type: 'string' },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 1_000 : 40_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 5));
const BATCH = 500;
/** As a worker has jobs. */
const BATCHES_AT_ONCE = 4;
const DURABLE = [
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  'autovacuum=on',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
];
const holder = { owner: crypto.randomUUID(), leaseSeconds: 45 };
const { signal } = new AbortController();

interface Ready extends CampaignInHand {
  readonly channel: SendingChannel;
}

/** Sends one batch; answers when all of it is written down. */
type Way = (ctx: Context, ready: Ready, ids: readonly bigint[]) => Promise<void>;

const exactly: Way = async (ctx, { campaign, edition, channel }, ids) => {
  const recorder = campaign.recorder(ctx, { serverId: channel.serverId, holder });
  await sendBatch(ctx, { campaign, edition, channel, recorder }, ids);
};

const atTheEnd: Way = async (ctx, { campaign, edition, channel }, ids) => {
  const outcomes: DeliveryOutcome[] = [];
  const recorder: OutcomeRecorder = {
    record: async ({ outcomes: ended }) => {
      outcomes.push(...ended);
      return { notMarked: new Set(), recorded: ended.length, goesOn: true };
    },
  };
  await sendBatch(ctx, { campaign, edition, channel, recorder }, ids);
  const { key } = campaign;
  await settle(ctx.db, { key, holder, serverId: channel.serverId, outcomes, next: [], contentVersion: null });
};

async function sendBatch(
  ctx: Context,
  { campaign, edition, channel, recorder }: Ready & { recorder: OutcomeRecorder },
  ids: readonly bigint[],
): Promise<void> {
  const range = { ...campaign.key, fromId: ids[0] ?? 0n, toId: ids.at(-1) ?? 0n };
  const claimed = await findRecipients(ctx.db, range, holder);
  const rest = { sendsMax: Infinity, abortSignal: signal, announce: () => undefined };
  await runSendingLoop({ ctx, campaign, edition, channel, recorder, claimed, ...rest });
}

const postgres = await startScratchPostgres(DURABLE);
const sink = await startBenchSink('chunking', 0);
// It makes the campaigns, and leaves the sending to this process.
const product = await startProduct(postgres.url, { ROLES: 'web' });
const tenant = await openBenchTenant(product, postgres.url, RECIPIENTS);
await tenant.useServer({ port: sink.port, connections: 10, window: 50 });
const database = openDatabase({ url: postgres.url, poolSize: 10, log: silentLog, applicationName: 'mailwright-bench' });
try {
  await measure(database, tenant, sink);
} finally {
  await database.close();
  await tenant.close();
  await product.stop();
  sink.close();
  await postgres.stop();
}

async function measure(db: Database, from: BenchTenant, receiver: BenchSink): Promise<void> {
  const ctx = await openContext(db);
  const drivers = createDriverPool(ctx.hooks);
  const rates: { exactly: number[]; atTheEnd: number[] } = { exactly: [], atTheEnd: [] };
  for (let round = 0; round < REPEAT; round++) {
    for (const [name, way] of Object.entries({ exactly, atTheEnd })) {
      const key = await openCampaign(ctx, from);
      const inHand = await createActiveCampaigns().take(ctx, key);
      const channel = await drivers.channelFor(ctx, key.customerId, key.campaignId);
      if (!inHand || !channel) throw new Error('The campaign is not being sent.');
      const startedAt = performance.now();
      await sendAll(ctx, { ...inHand, channel }, way);
      const rate = (RECIPIENTS / (performance.now() - startedAt)) * 1_000;
      const { people, doubled } = await receiver.report('reset');
      if (people !== RECIPIENTS || doubled > 0) throw new Error(`${people} people got it, ${doubled} of them twice.`);
      console.log(`${name}: ${Math.round(rate)} messages/s`);
      rates[name === 'exactly' ? 'exactly' : 'atTheEnd'].push(rate);
    }
  }
  const [mine, other] = [median(rates.exactly), median(rates.atTheEnd)];
  console.log(`with the ledger ${(mine / other).toFixed(2)} of one commit a batch (aim: 0.7), medians of ${REPEAT}`);
  await drivers.close();
}

async function sendAll(ctx: Context, ready: Ready, way: Way): Promise<void> {
  const rows = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT recipient_id AS id FROM hot.delivery WHERE source_id = ${ready.campaign.key.sourceId} ORDER BY 1`,
  );
  const batches = Array.from({ length: Math.ceil(rows.length / BATCH) }, (_, no) =>
    rows.slice(no * BATCH, (no + 1) * BATCH).map(({ id }) => id),
  ).values();
  const work = async (): Promise<void> => {
    for (const ids of batches) await way(ctx, ready, ids);
  };
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, work));
}

async function openCampaign(ctx: Context, from: BenchTenant): Promise<{ customerId: bigint; campaignId: bigint }> {
  const uid = await from.createCampaign();
  await from.run(uid);
  const [key] = await queryRows<{ customerId: bigint; campaignId: bigint }>(
    ctx.db,
    sql`SELECT customer_id AS "customerId", id AS "campaignId" FROM campaign WHERE uid = ${uid}`,
  );
  if (!key) throw new Error('There is no campaign.');
  await snapshotAudience(ctx, key, signal);
  return key;
}

async function openContext(db: Database): Promise<Context> {
  const hooks = createHookBus(silentLog);
  await loadPlugins('plugins', hooks);
  const limits = {
    ...{ sendBatchSize: BATCH, sendLeaseSeconds: 45, snapshotBatchSize: 10_000, importBatchSize: 20_000 },
    ...{
      sendAttemptsMax: 12,
      sendRetryDelaySeconds: 60,
      bouncePause: { percent: 95, recipients: 1_000 },
      importBytesMax: 0,
      fileBytesMax: 0,
      billingGraceDays: 7,
      sessionDays: { idle: 30, inAll: 90 },
    },
  };
  const installation = { baseUrl: 'http://mail.example', secret: BENCH_SECRET, limits };
  const nobody = { tx: undefined, viewer: null, ipAddress: null };
  return { db, database: db, hooks, clock: systemClock, log: silentLog, installation, ...nobody };
}
