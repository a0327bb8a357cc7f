/**
 * What signing costs whole campaigns: unsigned, with Ed25519 and with RSA-2048, in turns, through one process on a
 * durable PostgreSQL, to a sink of another process. Says messages a second, processor time a message, and the peak of
 * memory; fails when Ed25519 is slower than the bar allows, or somebody got no copy or two.
 *
 *   node bench/dkim-campaigns.ts [--smoke] [--recipients 20000] [--rounds 3] [--mode chunking] [--delay 0] [--connections 10]
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openBenchTenant } from './support/bench-tenant.ts';
import { cpuSecondsOfTree } from './support/process-tree.ts';
import { startProduct } from './support/product.ts';
import { startBenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    rounds: { type: 'string' },
    mode: { type: 'string', default: 'chunking' },
    delay: { type: 'string', default: '0' },
    connections: { type: 'string', default: '10' },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 300 : 20_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 3));
const ED25519_SHARE_MIN = 0.7;
const DURABLE = [
  ...['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on'],
  ...['shared_buffers=256MB', 'max_wal_size=4GB'],
];
/** By algorithm of the key in use; with none, nothing is signed. */
const WAYS = ['none', 'ed25519-sha256', 'rsa-sha256'];

const postgres = await startScratchPostgres(DURABLE);
const product = await startProduct(postgres.url);
const client = new pg.Client(postgres.url);
await client.connect();
if (values.mode !== 'chunking' && values.mode !== 'pipelining') throw new Error(`No such mode: ${values.mode}`);
const sink = await startBenchSink(values.mode, Number(values.delay));
const found = new Map(WAYS.map((way) => [way, new Array<number>()]));
try {
  const tenant = await openBenchTenant(product, postgres.url, RECIPIENTS);
  await tenant.useServer({ port: sink.port, connections: Number(values.connections), window: 20 });
  await product.rest('POST', '/sending_domains', { name: 'shop.example', uses_ed25519: 1 });
  // The first round is for warming up.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const way of WAYS) {
      await signBy(way);
      const rate = await measure(way);
      if (round > 0 || ROUNDS === 1) found.get(way)?.push(rate);
    }
  }
  await tenant.close();

  async function measure(way: string): Promise<number> {
    const campaign = await tenant.createCampaign();
    product.resetPeakMemory();
    const before = [cpuSecondsOfTree(product.pid), tenant.databaseSeconds()];
    const startedAt = performance.now();
    await tenant.run(campaign);
    await tenant.untilDone(campaign);
    const rate = RECIPIENTS / ((performance.now() - startedAt) / 1_000);
    const [used = 0, database = 0] = [cpuSecondsOfTree(product.pid), tenant.databaseSeconds()].map(
      (seconds, index) => ((seconds - (before[index] ?? 0)) / RECIPIENTS) * 1e6,
    );
    const { people, messages, signed } = await sink.report('reset');
    console.log(
      `${way.padEnd(14)} ${rate.toFixed(0)} messages/s, processor us a message: product ${used.toFixed(0)}, PostgreSQL ${database.toFixed(0)}; ` +
        `peak ${product.peakMegabytes().toFixed(0)} MB; load ${loadavg()[0]?.toFixed(1)}`,
    );
    const signedAsAsked = values.mode !== 'chunking' || signed === (way === 'none' ? 0 : RECIPIENTS);
    if (people === RECIPIENTS && messages === RECIPIENTS && signedAsAsked) return rate;
    throw new Error(`${messages} messages to ${people} people, ${signed} of them signed`);
  }
} finally {
  sink.close();
  await client.end();
  await product.stop();
  await postgres.stop();
}
const [unsigned = [], ed25519 = [], rsa = []] = WAYS.map((way) => found.get(way));
const share = median(ed25519.map((rate, round) => rate / (unsigned[round] ?? rate)));
console.log(
  `medians: unsigned ${median(unsigned).toFixed(0)} messages/s, Ed25519 ${median(ed25519).toFixed(0)}, RSA-2048 ${median(rsa).toFixed(0)}; ` +
    `Ed25519 ${share.toFixed(2)} of unsigned, bar ${ED25519_SHARE_MIN}`,
);
if (share < ED25519_SHARE_MIN && !values.smoke) process.exitCode = 1;

/** As if DNS had shown the record of this key, and of no other. */
async function signBy(algorithm: string): Promise<void> {
  await client.query(`UPDATE dkim_key SET status = CASE WHEN algorithm = $1 THEN 'active' ELSE 'new' END`, [algorithm]);
  await client.query(
    `UPDATE sending_domain SET status = 'verified', next_check_at = NULL, updated_at = clock_timestamp()`,
  );
}

function median(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? NaN;
}
