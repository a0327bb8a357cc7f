/**
 * Lets the product work for a long time at a steady pace, mails and calls of the API, and looks whether anything grows
 * that must not: memory, files, timers, the time of a call, dead rows (H8 of docs/reliability.md).
 *
 *   npm run chaos:soak -- [--minutes 30] [--mails 140] [--calls 28]      mails and calls are a second's
 *
 * Two hours are a million mails and 200,000 calls. Two fifths of the time are for warming up. The exit code is 1
 * when something grew; how long calls take depends on what else the machine does.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openBenchTenant, type BenchTenant } from '../../bench/support/bench-tenant.ts';
import { startProduct, type Product } from '../../bench/support/product.ts';
import { newList } from '../../bench/support/rest-import.ts';
import { startBenchSink, type BenchSink } from '../../bench/support/sink-process.ts';
import { startScratchPostgres } from '../../scripts/scratch-postgres.ts';
import type { Verdict } from './judge.ts';
import { printVerdicts } from './print-verdicts.ts';
import { usageOf } from './usage.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    mails: { type: 'string', default: '140' },
    calls: { type: 'string', default: '28' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usageOf(import.meta.filename));
  process.exit(0);
}
const [minutes, mailsPerSecond, callsPerSecond] = [Number(values.minutes), Number(values.mails), Number(values.calls)];
const PEOPLE = 5_000;
const LANES = 4;
/** One call in so many writes. */
const WRITE_EVERY = 10;
const LOOK_MS = 5_000;
const WARM_UP_SHARE = 0.4;
const SLOPE_MEGABYTES_MAX = 5;
const DRIFT_MAX = 1.1;
const DEAD_SHARE_MAX = 0.2;
/** In smaller tables a few dead rows are a large share. */
const ROWS_MIN = 10_000;
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on'];
const COUNTER = pathToFileURL(path.join(import.meta.dirname, 'count-resources.ts')).href;

interface Look {
  readonly hours: number;
  readonly megabytes: number;
  readonly files: number;
  readonly timers: number;
}

interface Call {
  readonly hours: number;
  readonly ms: number;
}

interface Soak {
  readonly product: Product;
  readonly tenant: BenchTenant;
  readonly client: pg.Client;
  readonly sink: BenchSink;
  readonly resources: string;
  readonly startedAt: number;
  readonly looks: Look[];
  readonly calls: Call[];
  /** What was asked for and not given. */
  readonly failures: string[];
  mails: number;
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-soak-'));
await using closers = new AsyncDisposableStack();
closers.defer(() => rmSync(folder, { recursive: true, force: true }));
if (!printVerdicts(judge(await run()), [])) process.exitCode = 1;

async function run(): Promise<Soak & { dead: string[] }> {
  const postgres = await startScratchPostgres(DURABLE);
  closers.defer(() => postgres.stop());
  const sink = await startBenchSink('chunking', 0);
  closers.defer(() => sink.close());
  const resources = path.join(folder, 'resources');
  const product = await startProduct(postgres.url, { NODE_OPTIONS: `--import ${COUNTER}`, RESOURCES: resources });
  closers.defer(() => product.stop());
  const tenant = await openBenchTenant(product, postgres.url, PEOPLE);
  closers.defer(() => tenant.close());
  await tenant.useServer({ port: sink.port, connections: 5, window: 10 });
  const client = new pg.Client(postgres.url);
  await client.connect();
  closers.defer(() => client.end());
  const soak = { product, tenant, client, sink, resources, startedAt: performance.now() };
  const state: Soak = { ...soak, looks: [], calls: [], failures: [], mails: 0 };
  const listUid = await newList(product);
  await Promise.all([sendOn(state), look(state), ...Array.from({ length: LANES }, () => callOn(state, listUid))]);
  return Object.assign(state, { dead: await deadRows(client) });
}

function hoursOf({ startedAt }: Soak): number {
  return (performance.now() - startedAt) / 3_600_000;
}

function isOver(soak: Soak): boolean {
  return hoursOf(soak) > minutes / 60;
}

/** One campaign after the other to the same people. */
async function sendOn(soak: Soak): Promise<void> {
  const { tenant, sink } = soak;
  for (let next = performance.now(); !isOver(soak); next += (PEOPLE * 1_000) / mailsPerSecond) {
    await sleep(Math.max(0, next - performance.now()));
    const uid = await tenant.createCampaign();
    await tenant.run(uid);
    await tenant.untilDone(uid);
    const { messages, people } = await sink.report('reset');
    if (messages !== PEOPLE || people !== PEOPLE)
      soak.failures.push(`${messages} mails to ${people} of ${PEOPLE} people`);
    soak.mails += messages;
  }
}

/** A client that reads most of the time, and adds somebody to a list now and then. */
async function callOn(soak: Soak, listUid: string): Promise<void> {
  const { product, calls, failures } = soak;
  const reads = [`/lists/${listUid}`, `/subscribers?list_uid=${listUid}&per_page=25`, '/campaigns?per_page=25'];
  let next = performance.now();
  for (let at = 0; !isOver(soak); at++) {
    await sleep(Math.max(0, next - performance.now()));
    next += (LANES * 1_000) / callsPerSecond;
    const requestedAt = performance.now();
    const person = { list_uid: listUid, EMAIL: `p-${crypto.randomUUID()}@example.net` };
    await (
      at % WRITE_EVERY === 0
        ? product.rest('POST', '/subscribers', person)
        : product.rest('GET', reads[at % reads.length] ?? '')
    ).catch((error: unknown) => failures.push(String(error).slice(0, 200)));
    calls.push({ hours: hoursOf(soak), ms: performance.now() - requestedAt });
  }
}

async function look(soak: Soak): Promise<void> {
  const { product, looks, resources } = soak;
  let said = 0;
  while (!isOver(soak)) {
    await sleep(LOOK_MS);
    const megabytes =
      Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${product.pid}/status`, 'utf8'))?.[1]) / 1_024;
    const files = readdirSync(`/proc/${product.pid}/fd`).length;
    // Written every five seconds; a busy machine may be late with the first.
    if (!existsSync(resources)) continue;
    const { timers } = JSON.parse(readFileSync(resources, 'utf8'));
    looks.push({ hours: hoursOf(soak), megabytes, files, timers });
    if (performance.now() - said < 60_000) continue;
    said = performance.now();
    console.log(
      `${(hoursOf(soak) * 60).toFixed(0)} min: ${megabytes.toFixed(0)} MB, ${files} files, ${timers} timers, ${soak.mails} mails, ${soak.calls.length} calls`,
    );
  }
}

async function deadRows(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; live: number; dead: number }>(
    `SELECT schemaname || '.' || relname AS name, n_live_tup::int AS live, n_dead_tup::int AS dead FROM pg_stat_user_tables
      WHERE n_live_tup + n_dead_tup > ${ROWS_MIN} AND n_dead_tup > ${DEAD_SHARE_MAX} * (n_live_tup + n_dead_tup)`,
  );
  return rows.map(({ name, live, dead }) => `${name}: ${dead} beside ${live}`);
}

function judge({ looks, calls, dead, failures, mails }: Soak & { dead: string[] }): Verdict[] {
  const warm = (minutes / 60) * WARM_UP_SHARE;
  const late = looks.filter(({ hours }) => hours > warm);
  const slope = slopeOf(lowestOfEachMinute(late));
  const [first, last] = thirds(calls.filter(({ hours }) => hours > warm)).map((some) => p99(some.map(({ ms }) => ms)));
  const drift = (last ?? 0) / (first || 1);
  const verdict = (promise: string, measured: string, holds: boolean): Verdict => ({
    row: 'H8',
    promise,
    measured,
    holds,
  });
  return [
    verdict(
      'everything asked for was done',
      `${mails} mails, ${calls.length} calls, ${failures.length} failed${failures[0] ? `: ${failures[0]}` : ''}`,
      failures.length === 0,
    ),
    verdict(
      `memory grows by ${SLOPE_MEGABYTES_MAX} MB an hour at most`,
      `${slope.toFixed(1)} MB an hour, ${range(late.map(({ megabytes }) => Math.round(megabytes)))} MB`,
      slope <= SLOPE_MEGABYTES_MAX,
    ),
    flat(
      'files',
      late.map(({ files }) => files),
    ),
    flat(
      'timers',
      late.map(({ timers }) => timers),
    ),
    verdict(
      'the slowest hundredth of the calls becomes no slower',
      `p99 ${first?.toFixed(0)} ms in the first third, ${last?.toFixed(0)} ms in the last`,
      drift <= DRIFT_MAX,
    ),
    verdict(
      'at most a fifth of a table is dead rows',
      dead.length === 0 ? 'so in all' : dead.join('; '),
      dead.length === 0,
    ),
  ];
}

/** Flat: the last third has no more than the first third had at most. */
function flat(what: string, counts: readonly number[]): Verdict {
  const [first = [], , last = []] = thirdsOf(counts);
  const [before, after] = [Math.max(...first), median(last)];
  const measured = `at most ${before} in the first third, ${after} in the middle of the last; ${range(counts)}`;
  return { row: 'H8', promise: `the number of ${what} does not grow`, measured, holds: after <= before };
}

function thirds(calls: readonly Call[]): [Call[], Call[]] {
  const [first = [], , last = []] = thirdsOf(calls);
  return [first, last];
}

function thirdsOf<Item>(items: readonly Item[]): Item[][] {
  const size = Math.ceil(items.length / 3);
  return [0, 1, 2].map((third) => items.slice(third * size, (third + 1) * size));
}

/** What the collector leaves: between two collections a process may hold anything. */
function lowestOfEachMinute(looks: readonly Look[]): Look[] {
  const lowest = new Map<number, Look>();
  for (const one of looks) {
    const minute = Math.floor(one.hours * 60);
    if (one.megabytes < (lowest.get(minute)?.megabytes ?? Infinity)) lowest.set(minute, one);
  }
  return [...lowest.values()];
}

/** Megabytes an hour, by least squares. */
function slopeOf(looks: readonly Look[]): number {
  const mean = (of: (one: Look) => number): number => looks.reduce((sum, one) => sum + of(one), 0) / looks.length;
  const [hours, megabytes] = [mean((one) => one.hours), mean((one) => one.megabytes)];
  const spread = looks.reduce((sum, one) => sum + (one.hours - hours) ** 2, 0);
  return looks.reduce((sum, one) => sum + (one.hours - hours) * (one.megabytes - megabytes), 0) / (spread || 1);
}

function p99(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}

function range(all: readonly number[]): string {
  return `${Math.min(...all)} to ${Math.max(...all)}`;
}
