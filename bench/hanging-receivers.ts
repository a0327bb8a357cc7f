/**
 * Slow receivers of webhooks hurt only themselves (hard case C5): of 105 receivers a hundred take each request and never answer. How long after it
 * happened an event comes to the five others, at the 95th percentile, and by how much the memory of the process grows.
 *
 *   node bench/hanging-receivers.ts [--smoke] [--seconds 60]
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openDatabase } from '../src/db/database.ts';
import { fireAutomationWebhook } from '../src/domain/webhooks/fire-automation-webhook.ts';
import { silentLog } from '../src/lib/log.ts';
import { startProduct } from './support/product.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean', default: false }, seconds: { type: 'string' } } });
const SECONDS = Number(values.seconds ?? (values.smoke ? 3 : 60));
const [HANGING, WELL] = values.smoke ? [10, 2] : [100, 5];
const EVENTS_A_SECOND = 10;
/** More than the time that a receiver has: by then each hanging one has been asked. */
const WARM_UP_SECONDS = values.smoke ? 1 : 15;
const PROMISED = { p95Ms: 2_000, growthMb: 30 };
const MINUTES_MAX = 3;

const server = await startScratchPostgres(['fsync=on', 'synchronous_commit=on', 'shared_buffers=256MB']);
const lateness: number[] = [];
const hanging = await originOf(() => undefined);
const well = await originOf((lateMs, answer) => {
  lateness.push(lateMs);
  answer();
});
// Each address of this machine is a receiver of its own.
const addresses = Array.from({ length: HANGING + WELL }, (_, no) => `127.0.1.${no + 1}`);
const product = await startProduct(server.url, { OUTBOUND_ALLOW_HOSTS: addresses.join(',') });
const database = openDatabase({ url: server.url, poolSize: 2, log: silentLog });
for (const [no, address] of addresses.entries()) {
  const origin = (no < HANGING ? hanging : well).replace('127.0.0.1', address);
  const webhook = {
    name: `Receiver ${no}`,
    event: 'automation_webhook',
    url: `${origin}/`,
    retry_times: 2,
    retry_after_seconds: 5,
  };
  await product.rest('POST', '/webhooks', webhook);
}
const fired = await fireFor(WARM_UP_SECONDS);
await arrived(fired);
lateness.length = 0;
product.resetPeakMemory();
const before = product.peakMegabytes();
await arrived(await fireFor(SECONDS));
const p95 = lateness.toSorted((a, b) => a - b)[Math.floor(lateness.length * 0.95)] ?? NaN;
const growth = product.peakMegabytes() - before;
console.log(
  `${lateness.length} events at ${WELL} receivers beside ${HANGING} that never answer: ${p95.toFixed(0)} ms after they happened at the 95th percentile ` +
    `(promised: ${PROMISED.p95Ms}), memory ${before.toFixed(0)} MB and up to ${growth.toFixed(0)} MB more (promised: ${PROMISED.growthMb})`,
);
await product.kill();
await database.close();
await server.stop();
const isKept = p95 <= PROMISED.p95Ms && growth <= PROMISED.growthMb;
// Requests that are never answered keep the process.
process.exit(values.smoke || isKept ? 0 : 1);

/** A server on all addresses of this machine; `take` gets how late an event came. */
async function originOf(take: (lateMs: number, answer: () => void) => void): Promise<string> {
  const receiver = createServer(async (req, res) => {
    const { occurred_at: at } = JSON.parse(await bodyOf(req));
    take(Date.now() - Date.parse(at), () => void res.writeHead(204).end());
  });
  receiver.listen(0, '0.0.0.0');
  await once(receiver, 'listening');
  return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Lets that many events happen, evenly; answers how many. */
async function fireFor(seconds: number): Promise<number> {
  const events = seconds * EVENTS_A_SECOND;
  for (let no = 1; no <= events; no++) {
    const call = { automationId: 1n, automationUid: '6204d1f8a9c3b', node: 'ask', personId: BigInt(no) };
    await database.transaction((tx) => fireAutomationWebhook(tx, [call]));
    await sleep(1_000 / EVENTS_A_SECOND);
  }
  return events;
}

/** Until the receivers that are well have them. */
async function arrived(events: number): Promise<void> {
  const endsAt = performance.now() + MINUTES_MAX * 60_000;
  while (lateness.length < events * WELL) {
    if (performance.now() > endsAt) throw new Error(`${lateness.length} of ${events * WELL} have come.`);
    await sleep(50);
  }
}
