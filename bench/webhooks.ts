/**
 * Webhooks to ten receivers (bar 4 of the webhooks): five are well, three are dead, one answers after 9 seconds, one fails half of the time. How long
 * until the five have every event, whether ids are stable, signatures right and the log complete, and the memory of the process. With kills
 * the process is ended by `kill -9` so many times meanwhile.
 *
 *   node bench/webhooks.ts [--smoke] [--events 20000] [--kill 30] [--slow]
 *
 * Each event goes to each receiver: 20,000 events are 200,000 deliveries. `--slow` waits until the slow receiver has all, which has 10 requests
 * at a time: 5 hours for 20,000.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openDatabase, sql } from '../src/db/database.ts';
import { fireAutomationWebhook } from '../src/domain/webhooks/fire-automation-webhook.ts';
import { silentLog } from '../src/lib/log.ts';
import { queryRows } from '../scripts/support/query-rows.ts';
import { RECEIVER_KINDS, startHookReceiver, type HookReceiver } from './support/hook-receivers.ts';
import { cpuMsOfAll, postmasterOf } from './support/processor-time.ts';
import { startProduct, type Product } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    events: { type: 'string' },
    kill: { type: 'string' },
    slow: { type: 'boolean', default: false },
  },
});
const EVENTS = Number(values.events ?? (values.smoke ? 100 : 20_000));
const KILLS = Number(values.kill ?? (values.smoke ? 1 : 0));
const FIRED_AT_ONCE = 500;
const LOG_SECONDS_MAX = 60;
/** The schedule of the bar: 20 tries from 1 s on, 10 s at most. */
const SCHEDULE = { retry_times: 19, retry_after_seconds: 1, retry_seconds_max: values.smoke ? 1 : 10 };
const PROMISED = { seconds: 60, growthMb: 30, connections: 10 };
/** A run that hangs ends. */
const MINUTES_MAX = values.slow ? 400 : 30;
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];
const faults: string[] = [];

const server = await startScratchPostgres(DURABLE);
const receivers = await Promise.all(RECEIVER_KINDS.map(startHookReceiver));
const well = receivers.filter(({ kind }) => kind === 'well');
const settings = { OUTBOUND_ALLOW_HOSTS: '127.0.0.1' };
let product: Product = await startProduct(server.url, settings);
const database = openDatabase({ url: server.url, poolSize: 4, log: silentLog });
const postmaster = await postmasterOf(database);
try {
  for (const receiver of receivers) await makeWebhook(receiver);
  await measure();
} finally {
  for (const receiver of receivers) receiver.close();
  // A profile is written when it stops.
  await (process.env['PROFILE'] ? product.stop() : product.kill());
  await database.close();
  await server.stop();
}
for (const fault of faults) console.error(fault);
// Requests that a silent receiver never answers keep the process.
process.exit(faults.length > 0 ? 1 : 0);

async function makeWebhook(receiver: HookReceiver): Promise<void> {
  const values = { name: receiver.kind, event: 'automation_webhook', url: `${receiver.origin}/`, ...SCHEDULE };
  receiver.secret = (await product.rest<{ secret: string }>('POST', '/webhooks', values)).secret;
}

async function measure(): Promise<void> {
  const before = processorTimes();
  const startedAt = performance.now();
  const isFired = fire();
  await killNow();
  await isFired;
  const firedAfter = seconds(startedAt);
  const memory: number[] = [];
  const doneAfter = await untilAll(well, startedAt, () => memory.push(product.peakMegabytes()));
  if (KILLS === 0) logProcessorTime(before);
  console.log(
    `${EVENTS} events to ${receivers.length} receivers, written in ${firedAfter.toFixed(1)} s: the ${well.length} that are well had all after ${doneAfter.toFixed(1)} s ` +
      `(promised: ${PROMISED.seconds}), ${((EVENTS * well.length) / doneAfter).toFixed(0)} a second, ${KILLS} kills`,
  );
  const isMeasured = !values.smoke && KILLS === 0;
  if (isMeasured && doneAfter > PROMISED.seconds) faults.push(`It took ${doneAfter.toFixed(1)} s.`);
  const half = receivers.filter(({ kind }) => kind === 'half' || (values.slow && kind === 'slow'));
  console.log(
    `the others had all after ${(await untilAll(half, startedAt, () => memory.push(product.peakMegabytes()))).toFixed(1)} s`,
  );
  const [first = 0, last = 0] = [memory[Math.floor(memory.length / 2)], memory.at(-1)];
  console.log(`memory: ${first.toFixed(0)} MB at most in the first half, ${last.toFixed(0)} MB in all`);
  if (isMeasured && last - first > PROMISED.growthMb)
    faults.push(`The memory grew by ${(last - first).toFixed(0)} MB.`);
  await judgeLog();
  for (const receiver of receivers) judge(receiver, seconds(startedAt));
}

/** Milliseconds so far. */
function processorTimes() {
  const { user, system } = process.cpuUsage();
  const program = product.cpuSeconds() * 1_000;
  return { program, database: cpuMsOfAll(postmaster), receivers: (user + system) / 1_000 };
}

/** It says more than the rate where other work runs beside. */
function logProcessorTime(before: ReturnType<typeof processorTimes>): void {
  const requests = receivers.reduce((sum, one) => sum + one.requests, 0);
  const after = processorTimes();
  const names = ['program', 'database', 'receivers'] as const;
  const each = names.map((name) => `${name} ${((after[name] - before[name]) / requests).toFixed(2)} ms`);
  console.log(`processor time for each of ${requests} requests, with writing the events: ${each.join(', ')}`);
}

/** Writes the events, some at a time. */
async function fire(): Promise<void> {
  for (let from = 0; from < EVENTS; from += FIRED_AT_ONCE) {
    const calls = Array.from({ length: Math.min(FIRED_AT_ONCE, EVENTS - from) }, (_, no) => ({
      ...{ automationId: 1n, automationUid: '6204d1f8a9c3b', node: 'ask', personId: BigInt(from + no + 1) },
    }));
    await database.transaction((tx) => fireAutomationWebhook(tx, calls));
  }
}

/** Ends the process in the middle of its work again and again; each time another one takes over. */
async function killNow(): Promise<void> {
  for (let kill = 1; kill <= KILLS; kill++) {
    const wanted = (EVENTS * well.length * kill) / (KILLS + 1);
    while (takenBy(well) < wanted) await sleep(20);
    await product.kill();
    product = await startProduct(server.url, settings);
  }
}

function takenBy(some: readonly HookReceiver[]): number {
  return some.reduce((sum, { taken }) => sum + taken.size, 0);
}

/** Until these have every event; answers after how many seconds. */
async function untilAll(some: readonly HookReceiver[], startedAt: number, look: () => void): Promise<number> {
  while (some.some(({ taken }) => taken.size < EVENTS)) {
    look();
    if (seconds(startedAt) > MINUTES_MAX * 60) {
      faults.push(`${EVENTS * some.length - takenBy(some)} had not come after ${MINUTES_MAX} minutes.`);
      break;
    }
    await sleep(200);
  }
  look();
  return seconds(startedAt);
}

function judge({ kind, taken, requests, openMax, faults: found }: HookReceiver, after: number): void {
  const again = [...taken.values()].reduce((sum, times) => sum + times - 1, 0);
  console.log(
    `${kind}: ${taken.size} of ${EVENTS}, ${again} came twice, ${requests} requests, ${openMax} at a time, after ${after.toFixed(0)} s`,
  );
  faults.push(...found.map((fault) => `${kind}: ${fault}`));
  if (openMax > PROMISED.connections) faults.push(`${kind}: ${openMax} requests at a time.`);
  if (KILLS === 0 && kind === 'well' && again > 0) faults.push(`${again} came twice without a kill.`);
}

/** The last answers are recorded a moment later. What a killed process had sent and not recorded comes again when its next try is due. */
async function judgeLog(): Promise<void> {
  const endsAt = performance.now() + LOG_SECONDS_MAX * 1_000;
  let found = await faultsOfLog();
  for (; found.length > 0 && performance.now() < endsAt; found = await faultsOfLog()) await sleep(500);
  faults.push(...found);
}

/** Of each delivery as many attempts are in the log as were made, and of each that was delivered one succeeded. */
async function faultsOfLog(): Promise<readonly string[]> {
  const rows = await queryRows<{ name: string; deliveries: number; delivered: number; incomplete: number }>(
    database,
    sql`WITH logged AS (SELECT delivery_id, count(*) AS attempts, count(*) FILTER (WHERE status BETWEEN 200 AND 299) AS successes
                          FROM hot.webhook_attempt GROUP BY delivery_id)
        SELECT w.name, count(*)::int AS deliveries, (count(*) FILTER (WHERE d.state = 'delivered'))::int AS delivered,
               (count(*) FILTER (WHERE d.attempts <> coalesce(l.attempts, 0) OR (d.state = 'delivered' AND l.successes <> 1)))::int AS incomplete
          FROM hot.webhook_delivery d JOIN webhook w ON w.customer_id = d.customer_id AND w.id = d.webhook_id LEFT JOIN logged l ON l.delivery_id = d.id
         GROUP BY w.id, w.name ORDER BY w.id`,
  );
  return rows.flatMap(({ name, deliveries, delivered, incomplete }) => [
    ...(deliveries === EVENTS && incomplete === 0
      ? []
      : [`${name}: ${deliveries} deliveries in the log, ${incomplete} without all attempts.`]),
    ...(['well', 'half'].includes(name) && delivered !== EVENTS ? [`${name}: ${delivered} delivered by the log.`] : []),
  ]);
}

function seconds(since: number): number {
  return (performance.now() - since) / 1_000;
}
