/**
 * A campaign with what may follow it (bar 7 of the webhooks): how many messages a second it sends with the event record, three webhooks and a flow
 * that opens begin, and without all of them, in turns. In both some people open and click meanwhile, so that only what follows them differs.
 *
 *   node bench/campaign-with-flow-and-webhooks.ts [--smoke] [--recipients 100000] [--repeat 3] [--delay 0] [--opens 50]
 *
 * `--opens` a second by real requests, one of five clicks also. The flow tags everybody who opens. Flow and webhooks look at an open some seconds
 * after it, so the readers begin that long before the campaign is run. Then everything must have been reported once and everybody tagged.
 * Readers and receivers of webhooks are this process, on the same processors. The database is the lived-in one.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startBenchDatabase } from './support/bench-database.ts';
import { inInstallation, type BenchInstallation } from './support/bench-installation.ts';
import { campaignRate } from './support/campaign-rate.ts';
import { startFlowAndWebhooks } from './support/flow-and-webhooks.ts';
import { MailReaders } from './support/mail-readers.ts';
import { median } from './support/median.ts';
import { cpuSecondsOfTree } from './support/process-tree.ts';

const { values } = parseArgs({
  options: {
    recipients: { type: 'string' },
    repeat: { type: 'string' },
    delay: { type: 'string', default: '0' },
    opens: { type: 'string', default: '50' },
    smoke: { type: 'boolean', default: false },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 2_000 : 100_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 3));
const OPENS_PER_SECOND = Number(values.opens);
const GOAL = 0.9;
/** A flow looks at an open after 5 seconds, webhooks after 3. */
const WARM_UP_MS = values.smoke ? 2_000 : 8_000;

type Variant = 'with' | 'without';

interface Measured {
  readonly rate: number;
  /** Processor time a message of the product and PostgreSQL, opens and all that follows them included. */
  readonly microseconds: number;
}

await inInstallation(
  {
    ...{ people: RECIPIENTS, delayMs: Number(values.delay), settings: { OUTBOUND_ALLOW_HOSTS: '127.0.0.1' } },
    startDatabase: () => startBenchDatabase(values.smoke, ['max_wal_size=4GB']),
  },
  measure,
);

async function measure(installation: BenchInstallation): Promise<void> {
  let campaignUid = '';
  // Nothing follows this one: it is there to be read, and the product is warm.
  await campaignRate(installation, RECIPIENTS, (uid) => (campaignUid = uid));
  const found: Record<Variant, Measured[]> = { with: [], without: [] };
  for (let round = 0; round < REPEAT; round++) {
    const order: readonly Variant[] = round % 2 === 0 ? ['without', 'with'] : ['with', 'without'];
    for (const variant of order) {
      const { sent, ...measured } = await measureOne(installation, { variant, campaignUid, tag: `read ${round}` });
      campaignUid = sent;
      found[variant].push(measured);
    }
  }
  const ratio = rateOf(found.with) / rateOf(found.without);
  const pairs = found.with.map(({ rate }, round) => (rate / (found.without[round]?.rate ?? Number.NaN)).toFixed(2));
  console.log(
    `A campaign to ${RECIPIENTS} sends ${Math.round(rateOf(found.without))} messages a second, with event record, flow and webhooks ${Math.round(rateOf(found.with))}: ` +
      `${ratio.toFixed(2)} (goal ${GOAL}; rounds: ${pairs.join(', ')}); medians of ${REPEAT}. ` +
      `Processor time a message: ${usedOf(found.without).toFixed(0)} and ${usedOf(found.with).toFixed(0)} us.`,
  );
  // A smoke run is too short to say.
  if (!values.smoke && ratio < GOAL) process.exitCode = 1;
}

function rateOf(found: readonly Measured[]): number {
  return median(found.map(({ rate }) => rate));
}

function usedOf(found: readonly Measured[]): number {
  return median(found.map(({ microseconds }) => microseconds));
}

interface One {
  readonly variant: Variant;
  /** An earlier campaign, which is read first. */
  readonly campaignUid: string;
  /** Another one in each round: nobody has it yet. */
  readonly tag: string;
}

/** `sent`: the campaign. */
async function measureOne(
  installation: BenchInstallation,
  { variant, campaignUid, tag }: One,
): Promise<Measured & { readonly sent: string }> {
  const { client, product, tenant } = installation;
  let sent = '';
  await tenant.recordEvents(variant === 'with');
  const followers = variant === 'with' ? await startFlowAndWebhooks(installation, { campaignUid, tag }) : undefined;
  const readers = new MailReaders({ client, url: product.url, opensPerSecond: OPENS_PER_SECOND, campaignUid });
  const startedAt = performance.now();
  readers.start();
  await sleep(WARM_UP_MS);
  const usedBefore = usedSeconds(installation);
  const rate = await campaignRate(installation, RECIPIENTS, (uid) => readers.readNewer((sent = uid)));
  const microseconds = ((usedSeconds(installation) - usedBefore) / RECIPIENTS) * 1e6;
  const seconds = (performance.now() - startedAt) / 1_000;
  await readers.stop();
  const followedAfter = await followers?.untilAllFollowed(readers, 1);
  await followers?.end();
  console.log(
    `${variant}: ${Math.round(rate)} messages a second, ${microseconds.toFixed(0)} us of processor each; ${readers.opened} opens (${(readers.opened / seconds).toFixed(0)} a second), ` +
      `${readers.clicked} clicks${followedAfter === undefined ? '' : `, all reported and tagged ${followedAfter.toFixed(1)} s later`}; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
  );
  return { rate, microseconds, sent };
}

function usedSeconds({ product, tenant }: BenchInstallation): number {
  return cpuSecondsOfTree(product.pid) + tenant.databaseSeconds();
}
