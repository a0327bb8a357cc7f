/**
 * A stranger sends 1,100 requests on each of 20 connections and never reads an answer, against one public address after
 * the other, and a customer against those with much html: how much the process grows over what it has when idle, and how long `/readyz` takes meanwhile. No limit of
 * requests is set, as by default. Fails beyond 100 MB or one second (with --smoke twice and three times as much).
 *
 *   node bench/never-reads.ts [--smoke] [--sockets 20] [--requests 1100] [--seconds 6] [--only /graphql]
 *
 * At the end it waits until the server has closed the connections whose client does not read (not with --smoke).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { ANSWER_PACE } from '../src/http/paced-connection.ts';
import { attackFaults, failFor, measureAttack, residentMb, type AttackCost } from './support/attack-cost.ts';
import { startProduct } from './support/product.ts';
import { contentRequests } from './support/content-requests.ts';
import { publicRequests, type PublicRequest } from './support/public-requests.ts';
import { sendUnread } from './support/unread-load.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    sockets: { type: 'string', default: '20' },
    requests: { type: 'string', default: '1100' },
    seconds: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const load = { sockets: Number(values.sockets), requests: Number(values.requests) };
const seconds = Number(values.seconds ?? (values.smoke ? 1 : 6));
/** A smoke run shares the machine with others: at a load of 11 on two cores the full form took up to 83 MB and 0.7 s. */
const LIMITS = values.smoke ? { growthMbMax: 200, readyMsMax: 3_000 } : { growthMbMax: 100, readyMsMax: 1_000 };
const PROBE_EVERY_MS = 100;
/** Until what a client that went away has left is collected. */
const REST_MS = 500;
/** Beside the window itself: when a sweep looks, and when the bench hears of it. */
const CLOSING_SLACK_MS = 25_000;
/** A smoke run takes every third address: all of them took 102 s of the two minutes that it has. */
const SMOKE_EVERY = 3;

const faults: string[] = [];
const database = await startScratchPostgres();
const product = await startProduct(database.url, { INBOX: 'on', INBOX_SMTP_PORT: '0', LOG_LEVEL: 'silent' });
try {
  await run();
} finally {
  await product.kill();
  await database.stop();
}
failFor(faults);

async function run(): Promise<void> {
  const named = [...(await publicRequests(product)), ...(await contentRequests(product))];
  const all = named.filter(({ name }) => name.includes(values.only));
  const requests = values.smoke ? all.filter((_one, no) => no % SMOKE_EVERY === 0) : all;
  // What is made at the first request is part of the idle process.
  for (const { request } of requests) await playOnce(request);
  await sleep(REST_MS);
  const idleMb = residentMb(product);
  console.log(`${load.sockets} connections, ${load.requests} requests on each; idle ${idleMb.toFixed(0)} MB`);
  console.log('address                              over idle, MB   slowest /readyz, ms');
  for (const one of requests) judge(one.name, await attack(one, idleMb));
  const [first] = requests;
  if (first && !values.smoke) await untilClosed(first);
}

async function playOnce(request: string): Promise<void> {
  const load = { sockets: 1, requests: 1 };
  const unread = sendUnread(product.url, request, load);
  await sleep(REST_MS);
  unread.end();
}

async function attack({ request }: PublicRequest, idleMb: number): Promise<AttackCost> {
  product.resetPeakMemory();
  const unread = sendUnread(product.url, request, load);
  const cost = await measureAttack(product, { seconds, idleMb });
  unread.end();
  await sleep(REST_MS);
  return cost;
}

function judge(name: string, cost: AttackCost): void {
  const [growth, ready] = [cost.growthMb.toFixed(0), cost.readyMs.toFixed(0)];
  console.log(`${name.padEnd(36)} ${growth.padStart(14)}   ${ready.padStart(19)}`);
  faults.push(...attackFaults(name, cost, LIMITS));
}

/** The client still does not read when its window is over. */
async function untilClosed({ name, request }: PublicRequest): Promise<void> {
  const unread = sendUnread(product.url, request, load);
  const startedAt = performance.now();
  const late = startedAt + ANSWER_PACE.windowMs + CLOSING_SLACK_MS;
  while (unread.closed() < load.sockets && performance.now() < late) await sleep(PROBE_EVERY_MS);
  const tookSeconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  console.log(`${name}: ${unread.closed()} of ${load.sockets} connections were closed after ${tookSeconds} s`);
  if (unread.closed() < load.sockets) faults.push(`${name}: connections stayed open whose client does not read.`);
  unread.end();
}
