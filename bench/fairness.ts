/**
 * Small campaigns beside a very large one (HARD-CASES A21): another customer starts campaigns to 10 and to 500 people
 * while the first sends to 200,000, all through one server of the installation. How long they take from `run` to
 * `done`, and how many of the large one went meanwhile; the same campaigns alone for comparison.
 *
 *   node bench/fairness.ts [--smoke] [--recipients 200000] [--delay 10] [--workers 1]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { newUid } from '../src/lib/ids.ts';
import { startProduct, type Product } from './support/product.ts';
import { startBenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    delay: { type: 'string', default: '10' },
    workers: { type: 'string', default: '1' },
  },
});
const LARGE = Number(values.recipients ?? (values.smoke ? 3_000 : 200_000));
const SMALL = values.smoke ? [10] : [10, 500, 10, 500, 10];
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];
const PROMISED_SECONDS = 10;

const server = await startScratchPostgres(DURABLE);
const sink = await startBenchSink('chunking', Number(values.delay));
try {
  const product = await startProduct(server.url, { WORKERS: values.workers });
  const client = new pg.Client(server.url);
  await client.connect();
  try {
    await measure(product, client);
  } finally {
    await client.end();
    await product.kill();
  }
} finally {
  sink.close();
  await server.stop();
}

async function measure(product: Product, client: pg.Client): Promise<void> {
  const settings = { host: '127.0.0.1', port: sink.port, encryption: 'none', connections: 5, window: 10 };
  await product.rest('POST', '/sending_servers', { name: 'Sink', type: 'smtp', settings });
  await client.query('UPDATE sending_server SET is_system = true');
  const prepared = [];
  for (const people of [...SMALL, ...SMALL, LARGE]) prepared.push(await campaign(client, people));
  const large = prepared.pop();
  if (large === undefined) return;

  for (const people of SMALL) {
    const seconds = await runToDone(client, prepared.shift());
    console.log(`alone:           ${String(people).padStart(4)} people in ${seconds.toFixed(2)} s`);
  }
  await start(client, large);
  while ((await sentOf(client, large)) < LARGE / 100) await sleep(20);
  let longest = 0;
  for (const people of SMALL) {
    const before = await sentOf(client, large);
    const seconds = await runToDone(client, prepared.shift());
    const meanwhile = (await sentOf(client, large)) - before;
    longest = Math.max(longest, seconds);
    console.log(
      `beside ${LARGE}: ${String(people).padStart(4)} people in ${seconds.toFixed(2)} s; ${meanwhile} of the others went meanwhile`,
    );
  }
  const left = LARGE - (await sentOf(client, large));
  console.log(`The large one had ${left} left. Longest: ${longest.toFixed(2)} s (promised: ${PROMISED_SECONDS} s).`);
  if (longest > PROMISED_SECONDS) process.exitCode = 1;
}

interface BenchCampaign {
  readonly customerId: string;
  readonly id: string;
}

/** Of a customer of its own, whom no plan limits: without one nothing is sent (D55). */
async function campaign(client: pg.Client, people: number): Promise<BenchCampaign> {
  const { rows } = await client.query<{ customer: string; list: string; id: string }>(
    `WITH u AS (INSERT INTO customer (uid, name, is_operator) VALUES ($1, 'Bench', true) RETURNING id),
          l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                SELECT id, $2, 'Bench', 'News', 'news@shop.example', 'Shop' FROM u RETURNING customer_id, id),
          k AS (INSERT INTO list_contact (customer_id, list_id, company, address_1, country_id, email) SELECT customer_id, id, 'Shop', '1 High St', 1, 'o@shop.example' FROM l)
     INSERT INTO campaign (customer_id, uid, list_id, name, subject, from_email, from_name, html, status)
     SELECT customer_id, $3, id, 'Bench', 'News', 'news@shop.example', 'Shop', '<p>Hello {EMAIL}</p>', 'ready' FROM l
     RETURNING customer_id AS customer, list_id AS list, id`,
    [newUid(), newUid(), newUid()],
  );
  const { customer = '', list = '', id = '' } = rows[0] ?? {};
  await client.query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
     SELECT $1, $2, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}' FROM generate_series(1, $3::int) n`,
    [customer, list, people],
  );
  return { customerId: customer, id };
}

/** As starting it does, for customers who have no token here. */
async function start(client: pg.Client, { customerId, id }: BenchCampaign): Promise<void> {
  await client.query(
    `UPDATE campaign SET status = 'queued', started_at = now(), snapshot_on = (now() AT TIME ZONE 'UTC')::date WHERE id = $1`,
    [id],
  );
  await client.query(
    `SELECT graphile_worker.add_job('campaigns.plan', json_build_object('customerId', $1::text, 'campaignId', $2::text),
       flags => ARRAY['customer:' || $1::text])`,
    [customerId, id],
  );
}

async function runToDone(client: pg.Client, one: BenchCampaign | undefined): Promise<number> {
  if (one === undefined) throw new Error('There are no campaigns left.');
  const startedAt = performance.now();
  await start(client, one);
  for (;;) {
    const { rows } = await client.query<{ status: string }>('SELECT status FROM campaign WHERE id = $1', [one.id]);
    if (rows[0]?.status === 'done') return (performance.now() - startedAt) / 1_000;
    await sleep(10);
  }
}

async function sentOf(client: pg.Client, { id }: BenchCampaign): Promise<number> {
  const { rows } = await client.query<{ sent: number }>('SELECT sent FROM hot.delivery_counter WHERE source_id = $1', [
    id,
  ]);
  return rows[0]?.sent ?? 0;
}
