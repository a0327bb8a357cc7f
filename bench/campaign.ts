/**
 * A whole campaign against another program's SMTP receiver, beside what that program's own source reaches against the same
 * receiver in the same run, in turns: messages a second and their ratio, processor time a message of the product and of
 * PostgreSQL, the ledger's balance. The server has its defaults: its connections grow by themselves. With `--verify`
 * every message that arrived is read; with `--kill` the product is killed in the middle and started again; with
 * `--plan` the customer has a plan whose credits are just enough, so that every job leases its slice of them.
 *
 *   node bench/campaign.ts [--smoke] [--recipients 20000] [--rounds 3] [--verify] [--kill] [--plan]
 *     [--connections 20] [--window 10]     the largest numbers, instead of the defaults
 *
 * Needs Postfix's smtp-sink and smtp-source (Debian's package postfix); SMTP_SINK=/path names the sink where it is not
 * in the usual places. Without them nothing is measured, and that is said.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../src/db/database.ts';
import { silentLog } from '../src/lib/log.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { givePlan } from './support/give-plan.ts';
import { median } from './support/median.ts';
import { cpuMsOfAll, postmasterOf } from './support/processor-time.ts';
import { startProduct, type Product } from './support/product.ts';
import { postfixFolder, startSmtpSink, type Sink } from './support/smtp-sink.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    verify: { type: 'boolean', default: false },
    kill: { type: 'boolean', default: false },
    plan: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '1' },
    connections: { type: 'string' },
    window: { type: 'string' },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 200 : 20_000));
const MESSAGE_BYTES = 11_000;
/** Of smtp-source over 20 connections. */
const GOAL = 0.6;
const SENDER = { from_email: 'news@shop.example', from_name: 'Shop' };
const PARAGRAPH = 'Our new collection is here, made of linen and wool, in six colours. '.repeat(12);
const HTML = `<html><body><h1>Hello {FIRST_NAME}</h1>${[1, 2, 3, 4, 5]
  .map((n) => `<p>${PARAGRAPH} <a href="https://shop.example/offer/${n}?for={EMAIL}">Offer ${n}</a></p>`)
  .join('\n')}<p>{CITY}, <a href="{UNSUBSCRIBE_URL}">unsubscribe</a></p></body></html>`;

const folder = postfixFolder();
if (folder === undefined) {
  console.log('There is no smtp-sink on this machine (Debian package postfix; SMTP_SINK=/path): nothing was measured.');
} else {
  await main(folder);
}

async function main(folder: string): Promise<void> {
  const dump = values.verify ? mkdtempSync(path.join(tmpdir(), 'mailwright-dump-')) : undefined;
  if (dump) chmodSync(dump, 0o777);
  const [server, sink] = await Promise.all([
    startBenchDatabase(values.smoke),
    startSmtpSink(folder, dump && path.join(dump, 'm.')),
  ]);
  try {
    await measure(server.url, sink, dump);
  } finally {
    sink.close();
    await server.stop();
    if (dump) rmSync(dump, { recursive: true, force: true });
  }
}

interface Figures {
  readonly rate: number;
  /** Of smtp-source; undefined where there is none. */
  readonly source: number | undefined;
  /** Processor time a message, in microseconds. */
  readonly product: number;
  readonly postgres: number;
}

async function measure(databaseUrl: string, sink: Sink, dump: string | undefined): Promise<void> {
  const database = openDatabase({ url: databaseUrl, poolSize: 1, log: silentLog });
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const world: World = {
    databaseUrl,
    client,
    sink,
    postmaster: await postmasterOf(database),
    product: await startProduct(databaseUrl),
  };
  await database.close();
  const listUid = await prepare(world);
  if (values.plan)
    await givePlan((text, args) => client.query(text, [...args]), { email_max: RECIPIENTS, sending_quota: RECIPIENTS });
  const rounds: Figures[] = [];
  for (let round = 0; round < Number(values.rounds); round++) rounds.push(await sendOnce(world, listUid));
  if (rounds.length > 1) showMedians(rounds);
  if (dump) verify(dump, await unknownOutcomes(client));
  await client.end();
  await world.product.stop();
}

interface World {
  readonly databaseUrl: string;
  readonly client: pg.Client;
  readonly sink: Sink;
  readonly postmaster: number;
  /** Another one after a kill. */
  product: Product;
}

/** smtp-source, then a campaign. */
async function sendOnce(world: World, listUid: string): Promise<Figures> {
  const { client, databaseUrl, postmaster, sink } = world;
  const source = values.verify ? undefined : await sink.measureSource(RECIPIENTS, MESSAGE_BYTES);
  const uid = await newCampaign(world.product, listUid);
  const before = { product: world.product.cpuSeconds(), postgres: cpuMsOfAll(postmaster), at: performance.now() };
  await world.product.rest('POST', `/campaigns/${uid}/run`);
  if (values.kill) world.product = await killInTheMiddle(world.product, client, databaseUrl);
  await untilDone(client);
  const seconds = (performance.now() - before.at) / 1_000;
  const figures = {
    rate: RECIPIENTS / seconds,
    source,
    product: values.kill ? Number.NaN : ((world.product.cpuSeconds() - before.product) / RECIPIENTS) * 1e6,
    postgres: ((cpuMsOfAll(postmaster) - before.postgres) / RECIPIENTS) * 1e3,
  };
  const { rows } = await client.query(
    'SELECT audience, open, sent, failed, skipped, suppressed, unknown FROM hot.delivery_counter ORDER BY source_id DESC LIMIT 1',
  );
  const { rows: servers } = await client.query<{ connections: number }>(
    'SELECT max(connections) AS connections FROM hot.sending_connections',
  );
  console.log(
    `campaign to ${RECIPIENTS}: ${seconds.toFixed(1)} s, peak ${Math.round(world.product.peakMegabytes())} MB, ${servers[0]?.connections ?? 0} connections at the end; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
  );
  show(figures);
  console.log(`ledger: ${JSON.stringify(rows[0])}`);
  return figures;
}

function show({ rate, source, product, postgres }: Figures): void {
  console.log(
    `  ${Math.round(rate)} messages/s; processor time a message: product ${product.toFixed(0)} us, PostgreSQL ${postgres.toFixed(0)} us`,
  );
  console.log(
    source === undefined
      ? '  No smtp-source: the ratio is skipped.'
      : `  smtp-source, same receiver, same run: ${Math.round(source)} messages/s; ratio ${(rate / source).toFixed(2)} (goal ${GOAL})`,
  );
}

function showMedians(rounds: readonly Figures[]): void {
  console.log(`medians of ${rounds.length} rounds, each figure by itself:`);
  const of = (pick: (figures: Figures) => number): number => median(rounds.map(pick));
  const ratio = of(({ rate, source }) => rate / (source ?? Number.NaN));
  show({
    rate: of(({ rate }) => rate),
    source: undefined,
    product: of(({ product }) => product),
    postgres: of(({ postgres }) => postgres),
  });
  console.log(`  ratio ${ratio.toFixed(2)} (goal ${GOAL})`);
}

async function unknownOutcomes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ unknown: number }>(
    'SELECT sum(unknown)::int AS unknown FROM hot.delivery_counter',
  );
  return rows[0]?.unknown ?? 0;
}

/** A list with people, and a server; answers the list's uid. */
async function prepare({ product, client, sink }: World): Promise<string> {
  const contact = {
    company: 'Shop',
    address_1: '1 High Street',
    city: 'Springfield',
    state: 'CA',
    zip: '12345',
    phone: '1',
    country_id: 1,
    email: 'shop@shop.example',
  };
  const { list_uid } = await product.rest<{ list_uid: string }>('POST', '/lists', {
    name: 'Bench',
    default_subject: 'News',
    ...SENDER,
    contact,
  });
  await product.rest('POST', `/lists/${list_uid}/add-field`, { type: 'text', label: 'City', tag: 'CITY' });
  await client.query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
     SELECT l.customer_id, l.id, 'person' || n || '@example.org', 'person' || n || '@example.org', 'subscribed',
            jsonb_build_object('FIRST_NAME', 'Name' || n, 'CITY', 'City' || n % 100)
       FROM mail_list l, generate_series(1, $1::int) n WHERE l.uid = $2`,
    [RECIPIENTS, list_uid],
  );
  await client.query('VACUUM ANALYZE subscriber');
  const settings = {
    host: '127.0.0.1',
    port: sink.port,
    encryption: 'none',
    ...(values.connections === undefined ? {} : { max_connections: Number(values.connections) }),
    ...(values.window === undefined ? {} : { window: Number(values.window) }),
  };
  await product.rest('POST', '/sending_servers', { name: 'Sink', type: 'smtp', settings });
  return list_uid;
}

async function newCampaign(product: Product, list_uid: string): Promise<string> {
  const campaign = {
    list_uid,
    name: 'Bench',
    subject: 'News for {FIRST_NAME}',
    ...SENDER,
    html: HTML,
    track_open: 1,
    track_click: 1,
  };
  const { campaign_uid } = await product.rest<{ campaign_uid: string }>('POST', '/campaigns', campaign);
  return campaign_uid;
}

async function untilDone(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ status: string }>('SELECT status FROM campaign ORDER BY id DESC LIMIT 1');
    if (rows[0]?.status === 'done') return;
    await sleep(50);
  }
}

async function killInTheMiddle(product: Product, client: pg.Client, databaseUrl: string): Promise<Product> {
  while ((await sentCount(client)) < RECIPIENTS / 2) await sleep(10);
  await product.kill();
  const [killedAt, sentBefore] = [performance.now(), await sentCount(client)];
  const { rows } = await client.query<{ inFlight: number }>(
    `SELECT count(*)::int AS "inFlight" FROM hot.delivery WHERE state = 'sending'`,
  );
  const next = await startProduct(databaseUrl);
  while ((await sentCount(client)) === sentBefore) await sleep(10);
  const seconds = ((performance.now() - killedAt) / 1_000).toFixed(1);
  console.log(
    `killed at ${sentBefore} sent, ${rows[0]?.inFlight} in flight; went on ${seconds} s after the kill, start included`,
  );
  return next;
}

async function sentCount(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ sent: number }>(
    'SELECT sent FROM hot.delivery_counter ORDER BY source_id DESC LIMIT 1',
  );
  return rows[0]?.sent ?? 0;
}

/**
 * Reads every message that the receiver kept: who got how many, and whether each carries its own values. Only those
 * whose fate the ledger calls unknown may be missing.
 */
function verify(dump: string, unknown: number): void {
  const copies = new Map<string, number>();
  let wrong = 0;
  for (const file of readdirSync(dump)) {
    for (const message of readFileSync(path.join(dump, file), 'utf8')
      .split(/^X-Client-Addr: /m)
      .slice(1)) {
      const to = /^X-Rcpt-Args: <?([^>\s]+)/m.exec(message)?.[1] ?? '';
      copies.set(to, (copies.get(to) ?? 0) + 1);
      if (!isRight(message, /^person(\d+)@/.exec(to)?.[1])) wrong += 1;
    }
  }
  const doubled = [...copies.values()].filter((count) => count > 1).length;
  console.log(
    `read back: ${copies.size} recipients, ${doubled} of them got a second copy, ${wrong} messages with wrong content`,
  );
  if (copies.size + unknown < RECIPIENTS || doubled > 0 || wrong > 0) process.exitCode = 1;
}

function isRight(message: string, number: string | undefined): boolean {
  const text = message.replace(/=\r?\n/g, '').replace(/\r?\n[ \t]/g, ' ');
  return (
    [
      `Subject: News for Name${number}\n`,
      `Hello Name${number}<`,
      `City${Number(number) % 100},`,
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      'List-Unsubscribe: <http',
      '/o/',
    ].every((needle) => text.replaceAll('\r', '').includes(needle)) && (text.match(/\/c\//g) ?? []).length >= 5
  );
}
