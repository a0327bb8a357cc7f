/**
 * What a provider that holds its mail back costs all others (HARD-CASES A20): a tenth of the recipients are at one that
 * says `421 4.7.28` to everything, which lets it rest for ten minutes. The rate of the other nine tenths beside the same
 * campaign while that provider takes everything, in turns.
 *
 *   node bench/one-domain-rests.ts [--smoke] [--recipients 40000] [--repeat 5] [--delay 0]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openBenchTenant, type BenchTenant } from './support/bench-tenant.ts';
import { startProduct } from './support/product.ts';
import { startBenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    repeat: { type: 'string' },
    delay: { type: 'string', default: '0' },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 1_000 : 40_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 5));
const AT_PROVIDER = RECIPIENTS / 10;
const DURABLE = [
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  'autovacuum=on',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
];

const postgres = await startScratchPostgres(DURABLE);
const sink = await startBenchSink('chunking', Number(values.delay));
const product = await startProduct(postgres.url);
const client = new pg.Client(postgres.url);
await client.connect();
const tenant = await openBenchTenant(product, postgres.url, RECIPIENTS);
await tenant.useServer({ port: sink.port, connections: 10, window: 50 });
try {
  await measure(tenant);
} finally {
  await tenant.close();
  await client.end();
  await product.kill();
  sink.close();
  await postgres.stop();
}

async function measure(from: BenchTenant): Promise<void> {
  const found = { takes: [] as number[], rests: [] as number[] };
  for (let round = 0; round < REPEAT; round++) {
    for (const how of ['takes', 'rests'] as const) {
      await sink.report(how === 'rests' ? 'provider is full' : 'provider has room');
      const rate = await rateOfOthers(from, `${how}-${round}`);
      found[how].push(rate);
      console.log(`the provider ${how}: ${Math.round(rate)} messages/s to all others`);
    }
  }
  const [takes, rests] = [median(found.takes), median(found.rests)];
  console.log(`while one rests ${(rests / takes).toFixed(2)} of the rate (aim: 0.95), medians of ${REPEAT}`);
}

async function rateOfOthers(from: BenchTenant, round: string): Promise<number> {
  // One that has not rested yet.
  await client.query(
    `UPDATE subscriber SET email = 'person' || n || '@p' || $1 || '.example', email_key = 'person' || n || '@p' || $1 || '.example'
       FROM (SELECT id AS i, row_number() OVER (ORDER BY id) AS n FROM subscriber) numbered WHERE id = i AND n % 10 = 0`,
    [round],
  );
  await client.query('VACUUM ANALYZE subscriber');
  await sink.report('reset');
  const campaign = await from.createCampaign();
  const startedAt = performance.now();
  await from.run(campaign);
  for (;;) {
    const { people, atProvider, doubled } = await sink.report();
    if (doubled > 0) throw new Error(`${doubled} people got it twice.`);
    if (people - atProvider === RECIPIENTS - AT_PROVIDER) break;
    await sleep(10);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  // Whoever is left at the provider would be tried during the next round.
  await client.query(
    `UPDATE campaign SET status = 'paused', wait_kind = NULL, wait_until = NULL WHERE uid = $1 AND status <> 'done'`,
    [campaign],
  );
  await sleep(1_000);
  return (RECIPIENTS - AT_PROVIDER) / seconds;
}

function median(found: readonly number[]): number {
  return found.toSorted((a, b) => a - b)[Math.floor(found.length / 2)] ?? NaN;
}
