/**
 * Sending and tracking on a database with a hundred million rows of history, beside the same on an empty one: two
 * servers and two products, campaigns and clicks in turns, medians of the ratios. The history is made by COPY: ledger
 * rows in this month's partition and eleven before it, and what came back to one in ten of them.
 *
 *   node bench/hundred-million.ts [--smoke] [--rows 100000000] [--people 20000] [--rounds 5] [--seconds 4]
 *   node bench/hundred-million.ts --data DIR [--fill-only]      keeps the history in a folder of its own, and uses what is there
 *
 * A hundred million rows take some 60 GB and twenty minutes to make.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { limitsOf } from '../src/app/installation.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { startEmbeddedDatabase } from '../src/db/embedded.ts';
import { linkSignerOf } from '../src/domain/tracking/link-signer.ts';
import { openBenchTenant, type BenchTenant } from './support/bench-tenant.ts';
import { fillLedger } from './support/fill-ledger.ts';
import { requestLinks } from './support/link-load.ts';
import { median } from './support/median.ts';
import { startProduct, type Product } from './support/product.ts';
import { recipientOfCampaign } from '../src/domain/tracking/tracking.ts';
import { startBenchSink, type BenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    rows: { type: 'string' },
    people: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    data: { type: 'string' },
    'fill-only': { type: 'boolean', default: false },
  },
});
const ROWS = Number(values.rows ?? (values.smoke ? 50_000 : 100_000_000));
const PEOPLE = Number(values.people ?? (values.smoke ? 500 : 20_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 5));
const SECONDS = Number(values.seconds ?? (values.smoke ? 1 : 4));
const PER_CAMPAIGN = 250_000;
const CONNECTIONS = 64;
const SECRET = 'bench'.repeat(10);
/** As the product's own embedded server runs. */
const DURABLE = [
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  'autovacuum=on',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
];

/** While it is filled nothing is waited for; a fill that was cut short is made anew. */
const CARELESS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'autovacuum=off', 'max_wal_size=4GB'];

const UNFINISHED = 'unfinished';

interface Operator {
  readonly name: string;
  readonly product: Product;
  readonly tenant: BenchTenant;
  readonly client: pg.Client;
  readonly sent: number[];
  readonly clicked: number[];
}

await using closers = new AsyncDisposableStack();
const history = await openHistory();
if (!values['fill-only']) await compare();

async function compare(): Promise<void> {
  const sink = await startBenchSink('chunking', 0);
  closers.defer(() => sink.close());
  const full = await open('with history', sink, history);
  const scratch = await startScratchPostgres(DURABLE);
  closers.defer(() => scratch.stop());
  const empty = await open('empty', sink, scratch);
  for (let round = 0; round <= ROUNDS; round++) {
    // The first round warms up.
    for (const operator of round % 2 === 0 ? [empty, full] : [full, empty]) await measure(operator, round > 0);
  }
  report(empty, full);
}

/** A durable server with the history: what lies in `--data`, or a new one. */
async function openHistory(): Promise<{ url: string }> {
  const folder = values.data;
  if (folder === undefined) {
    const postgres = await startScratchPostgres(DURABLE);
    closers.defer(() => postgres.stop());
    await fill(postgres.url);
    return postgres;
  }
  const mark = path.join(folder, 'history');
  if (!existsSync(mark) && existsSync(folder))
    throw new Error(`${folder} is no history of this bench: name a new folder.`);
  if (!existsSync(mark) || readFileSync(mark, 'utf8') === UNFINISHED) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    writeFileSync(mark, UNFINISHED);
    const postgres = await startEmbeddedDatabase({ folder, settings: [...DURABLE, ...CARELESS] });
    await fill(postgres.url).finally(() => postgres.stop());
    writeFileSync(mark, String(ROWS));
  }
  console.log(`${readFileSync(mark, 'utf8')} rows of history in ${folder}`);
  const postgres = await startEmbeddedDatabase({ folder, settings: DURABLE });
  closers.defer(() => postgres.stop());
  return postgres;
}

async function fill(url: string): Promise<void> {
  // Makes the tables, and the customer whose history it is.
  const product = await startProduct(url);
  await product.stop();
  const startedAt = performance.now();
  await fillLedger({ url, rows: ROWS, perCampaign: Math.min(PER_CAMPAIGN, ROWS / 2), say: console.log });
  const client = new pg.Client(url);
  await client.connect();
  const { rows: sizes } = await client.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  );
  await client.end();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  console.log(`${ROWS} rows of history, ${sizes[0]?.size}, made in ${seconds} s`);
}

async function open(name: string, sink: BenchSink, { url }: { url: string }): Promise<Operator> {
  const product = await startProduct(url);
  closers.defer(() => product.stop());
  const client = new pg.Client(url);
  await client.connect();
  closers.defer(() => client.end());
  const tenant = await openBenchTenant(product, url, PEOPLE);
  closers.defer(() => tenant.close());
  await tenant.useServer({ port: sink.port, connections: 5, window: 10 });
  return { name, product, tenant, client, sent: [], clicked: [] };
}

async function measure({ name, product, tenant, client, sent, clicked }: Operator, counts: boolean): Promise<void> {
  const uid = await tenant.createCampaign();
  const startedAt = performance.now();
  await tenant.run(uid);
  await tenant.untilDone(uid);
  const messages = (PEOPLE * 1_000) / (performance.now() - startedAt);
  const latencies: number[] = [];
  const [paths, from] = [await linksOf(client, product, uid), performance.now()];
  const port = Number(new URL(product.url).port);
  await requestLinks({ port, paths, connections: CONNECTIONS, until: from + SECONDS * 1_000, latencies });
  // Counted as well: a rate that others have to make up for later is none.
  while ((await client.query('SELECT 1 FROM hot.tracking_event LIMIT 1')).rowCount) await sleep(10);
  const clicks = (latencies.length * 1_000) / (performance.now() - from);
  console.log(`${name}: ${Math.round(messages)} messages/s, ${Math.round(clicks)} clicks/s, answered and counted`);
  if (!counts) return;
  sent.push(messages);
  clicked.push(clicks);
}

/** A link to everybody of the campaign, as its mails have them. */
async function linksOf(client: pg.Client, { url }: Product, uid: string): Promise<string[]> {
  const { rows } = await client.query<{ customer: string; list: string; campaign: string; id: string }>(
    `SELECT c.customer_id AS customer, c.list_id AS list, c.id AS campaign, s.id FROM campaign c
       JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id WHERE c.uid = $1`,
    [uid],
  );
  const signer = linkSignerOf({ baseUrl: url, secret: SECRET, limits: limitsOf(loadConfig({})) });
  return rows.map(({ customer, list, campaign, id }, at) => {
    const recipient = recipientOfCampaign({
      customerId: BigInt(customer),
      listId: BigInt(list),
      campaignId: BigInt(campaign),
      subscriberId: BigInt(id),
    });
    return new URL(signer.forRecipient(recipient).click(at % 5, `https://shop.example/offer/${at % 5}`)).pathname;
  });
}

function report(empty: Operator, full: Operator): void {
  for (const what of ['sent', 'clicked'] as const) {
    const ratios = full[what].map((rate, at) => rate / (empty[what][at] ?? 1));
    console.log(
      `${what}: ${median(ratios).toFixed(2)} of the rate on an empty database (${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
    );
  }
}
