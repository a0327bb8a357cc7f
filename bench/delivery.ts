/**
 * Whole campaigns beside the yardstick (`reference-sender.ts`), against the same receiver, in the same run: messages a
 * second, processor time a message of each program, memory, copies. What the receiver offers (chunking, pipelining,
 * neither) and how late it answers is varied.
 *
 *   node bench/delivery.ts [--smoke] [--recipients 100000] [--modes chunking,pipelining,neither] [--delays 0,10] [--repeat 3]
 *   node bench/delivery.ts --processes 2      two sending processes beside one, over the same number of connections
 *   node bench/delivery.ts --processes 2 --each    over as many connections each as the one has (a server shares its own)
 *   node bench/delivery.ts --first 20         from `run` to the first message at the receiver, so many times
 *   node bench/delivery.ts --suppressed 50000   with so many suppressed addresses beside none, in turns
 *   node bench/delivery.ts --listeners 3      with so many plugins that filter `before_message_sent`, beside none, in turns
 *   node bench/delivery.ts --events           with the event record beside without its triggers, in turns
 *   node bench/delivery.ts --database postgres://...   on an empty database of that server, which you have started
 *
 * Without delay over `--connections` (10), with a delay over 50, as many as the yardstick has; `--window` (50) messages in
 * flight on each. The database is a
 * PostgreSQL of its own with durable settings. The machine's load before each measurement is printed: on a busy one only
 * the processor times mean anything.
 */
import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { writeBenchPlugins } from './support/bench-plugins.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { openBenchTenant, type BenchTenant } from './support/bench-tenant.ts';
import { startProduct, type Product } from './support/product.ts';
import { cpuSecondsOfTree } from './support/process-tree.ts';
import { startBenchSink, type BenchSink, type SinkMode } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    modes: { type: 'string', default: 'chunking,pipelining,neither' },
    delays: { type: 'string', default: '0,10' },
    repeat: { type: 'string' },
    connections: { type: 'string', default: '10' },
    window: { type: 'string', default: '50' },
    processes: { type: 'string', default: '1' },
    each: { type: 'boolean', default: false },
    first: { type: 'string' },
    suppressed: { type: 'string' },
    listeners: { type: 'string', default: '0' },
    events: { type: 'boolean', default: false },
    database: { type: 'string' },
    'no-reference': { type: 'boolean', default: false },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 500 : 100_000));
const SUPPRESSED = Number(values.suppressed ?? (values.smoke ? 1_000 : 0));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 3));
/** The yardstick's rate does not depend on how many it sends to. */
const REFERENCE_RECIPIENTS = Math.min(RECIPIENTS, 20_000);
const DELAYED_CONNECTIONS = 50;
const run = promisify(execFile);

interface Measured {
  readonly rate: number;
  readonly cpuMicroseconds: number;
}

interface Setup {
  readonly mode: SinkMode;
  readonly delayMs: number;
  readonly connections: number;
}

const postgres =
  values.database === undefined
    ? await startBenchDatabase(values.smoke, ['max_wal_size=4GB'])
    : { url: values.database, stop: () => Promise.resolve() };
const LISTENERS = Number(values.listeners);
/** As a plugin does that skips nobody of these. */
const LISTENER = `(message) => (message.email.endsWith('.invalid') ? { ...message, skip: { reason: 'Nobody.' } } : message)`;
const plugins = writeBenchPlugins(LISTENERS, 'before_message_sent', LISTENER);
const products = [await startProduct(postgres.url, { DATA_DIR: plugins.dataDir })];
try {
  const [first] = products;
  if (!first) throw new Error('No product was started.');
  const tenant = await openBenchTenant(first, postgres.url, RECIPIENTS);
  if (values.first !== undefined) await measureFirst(first, tenant, Number(values.first));
  else await measureAll(tenant);
  await tenant.close();
} finally {
  for (const product of products) await product.stop();
  await postgres.stop();
  plugins.remove();
}

async function measureAll(tenant: BenchTenant): Promise<void> {
  for (const delayMs of values.delays.split(',').map(Number)) {
    for (const mode of values.modes.split(',')) {
      if (mode !== 'chunking' && mode !== 'pipelining' && mode !== 'neither') throw new Error(`No such mode: ${mode}`);
      const connections = delayMs === 0 ? Number(values.connections) : DELAYED_CONNECTIONS;
      await compare(tenant, { mode, delayMs, connections });
    }
  }
}

/** Yardstick and product in turn, so that both meet the same machine. */
async function compare(tenant: BenchTenant, setup: Setup): Promise<void> {
  console.log(
    `\n${setup.mode}, replies after ${setup.delayMs} ms, ${setup.connections} connections, ${RECIPIENTS} recipients; load ${load()}`,
  );
  const sink = await startBenchSink(setup.mode, setup.delayMs);
  const found: Record<'reference' | 'one' | 'several' | 'suppressed' | 'listened' | 'unrecorded', Measured[]> = {
    ...{ reference: [], one: [], several: [], suppressed: [], listened: [], unrecorded: [] },
  };
  for (let round = 0; round < REPEAT; round++) {
    if (!values['no-reference']) found.reference.push(await measureReference(sink, setup));
    await startProcesses(1);
    if (SUPPRESSED > 0) await tenant.suppress(0);
    found.one.push(await measureCampaign(tenant, sink, setup));
    if (SUPPRESSED > 0) {
      await tenant.suppress(SUPPRESSED);
      found.suppressed.push(await measureCampaign(tenant, sink, setup));
    }
    if (values.events) {
      await tenant.recordEvents(false);
      found.unrecorded.push(await measureCampaign(tenant, sink, setup));
      await tenant.recordEvents(true);
    }
    if (LISTENERS > 0) found.listened.push(await withPlugins(() => measureCampaign(tenant, sink, setup)));
    if (Number(values.processes) === 1) continue;
    const processes = Number(values.processes);
    await startProcesses(processes);
    const connections = setup.connections * (values.each ? processes : 1);
    found.several.push(await measureCampaign(tenant, sink, { ...setup, connections }));
  }
  sink.close();
  say('one process', found.one, found.reference);
  if (found.suppressed.length > 0) say(`with ${SUPPRESSED} suppressed`, found.suppressed, found.one);
  if (found.unrecorded.length > 0) say('with the event record', found.one, found.unrecorded);
  if (found.listened.length > 0) say(`with ${LISTENERS} listeners`, found.listened, found.one);
  if (found.several.length > 0) say(`${values.processes} processes`, found.several, found.one);
}

async function withPlugins(measure: () => Promise<Measured>): Promise<Measured> {
  const [product] = products;
  if (!product) throw new Error('No product runs.');
  await plugins.activate(product);
  const measured = await measure();
  await plugins.deactivate(product);
  return measured;
}

/** Further sending processes on the same database, as on another machine. */
async function startProcesses(count: number): Promise<void> {
  while (products.length > count) await products.pop()?.stop();
  while (products.length < count) products.push(await startProduct(postgres.url, { ROLES: 'web,worker' }));
}

async function measureReference(sink: BenchSink, { connections }: Setup): Promise<Measured> {
  const program = path.join(import.meta.dirname, 'reference-sender.ts');
  const args = ['--port', sink.port, '--connections', connections, '--recipients', REFERENCE_RECIPIENTS];
  const { stdout } = await run(process.execPath, [program, ...args.map(String)]);
  const { seconds, cpuMicroseconds } = JSON.parse(stdout);
  await sink.report('reset');
  const measured = { rate: REFERENCE_RECIPIENTS / seconds, cpuMicroseconds };
  console.log(`  yardstick ${shown(measured)}`);
  return measured;
}

async function measureCampaign(tenant: BenchTenant, sink: BenchSink, { connections }: Setup): Promise<Measured> {
  await tenant.useServer({ port: sink.port, connections, window: Number(values.window) });
  const campaign = await tenant.createCampaign();
  for (const product of products) product.resetPeakMemory();
  const before = cpuSeconds(tenant, sink);
  const startedAt = performance.now();
  await tenant.run(campaign);
  await tenant.untilDone(campaign);
  const seconds = (performance.now() - startedAt) / 1_000;
  const used = cpuSeconds(tenant, sink).map((spent, index) => ((spent - (before[index] ?? 0)) / RECIPIENTS) * 1e6);
  const [product = 0, database = 0, receiver = 0] = used;
  const measured = { rate: RECIPIENTS / seconds, cpuMicroseconds: product };
  const { people, doubled, messages } = await sink.report('reset');
  const peak = Math.max(...products.map((one) => one.peakMegabytes()));
  console.log(
    `  product   ${shown(measured)}, PostgreSQL ${database.toFixed(0)}, receiver ${receiver.toFixed(0)}; peak ${peak.toFixed(0)} MB`,
  );
  if (people === RECIPIENTS && doubled === 0 && messages === RECIPIENTS) return measured;
  console.log(`  WRONG: ${messages} messages to ${people} people, ${doubled} of them more than once`);
  process.exitCode = 1;
  return measured;
}

/** Of all sending processes, of PostgreSQL, and of the receiver. */
function cpuSeconds(tenant: BenchTenant, sink: BenchSink): number[] {
  const sending = products.reduce((sum, product) => sum + cpuSecondsOfTree(product.pid), 0);
  return [sending, tenant.databaseSeconds(), sink.cpuSeconds()];
}

async function measureFirst(product: Product, tenant: BenchTenant, times: number): Promise<void> {
  const sink = await startBenchSink('chunking', 0);
  await tenant.useServer({ port: sink.port, connections: Number(values.connections), window: Number(values.window) });
  const found: number[] = [];
  for (let round = 0; round < times; round++) {
    const campaign = await tenant.createCampaign();
    await sink.report('reset');
    await sleep(200);
    const startedAt = Date.now();
    await tenant.run(campaign);
    await tenant.untilDone(campaign);
    found.push(((await sink.report()).firstAt ?? NaN) - startedAt);
  }
  sink.close();
  found.sort((a, b) => a - b);
  const p95 = found[Math.ceil(found.length * 0.95) - 1];
  console.log(
    `from run to the first message, ${RECIPIENTS} recipients, ${times} times; load ${load()}: median ${found[Math.floor(times / 2)]} ms, p95 ${p95} ms, most ${found.at(-1)} ms; peak ${product.peakMegabytes().toFixed(0)} MB`,
  );
}

function say(name: string, found: readonly Measured[], beside: readonly Measured[]): void {
  const [mine, other] = [median(found), median(beside)];
  const ratios =
    beside.length === 0
      ? ''
      : `: ${(mine.rate / other.rate).toFixed(2)} times the rate, ${(mine.cpuMicroseconds / other.cpuMicroseconds).toFixed(2)} of the processor time`;
  console.log(`  ${name}, median of ${found.length}: ${shown(mine)}${ratios}`);
}

function median(found: readonly Measured[]): Measured {
  const middle = (of: (one: Measured) => number) =>
    found.map(of).sort((a, b) => a - b)[Math.floor(found.length / 2)] ?? NaN;
  return { rate: middle((one) => one.rate), cpuMicroseconds: middle((one) => one.cpuMicroseconds) };
}

function shown({ rate, cpuMicroseconds }: Measured): string {
  return `${Math.round(rate)} messages/s, ${cpuMicroseconds.toFixed(0)} us of processor a message`;
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}
