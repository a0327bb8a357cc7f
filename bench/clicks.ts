/**
 * Clicks per second of the tracked links, each answered after its commit, beside a bare node:http server that
 * redirects without looking: same load, same connections, same run, and proof that every click was counted.
 *
 *   node bench/clicks.ts [--smoke] [--seconds 5] [--connections 64] [--people 50000]
 *
 * The database is a scratch one with its durability switched on, as in production.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openDatabase, sql, type Database } from '../src/db/database.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import type { Context } from '../src/domain/context.ts';
import { linkSignerOf } from '../src/domain/tracking/link-signer.ts';
import { startHttpServer } from '../src/http/http-server.ts';
import { createInbound } from '../src/inbound/inbound-mounts.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLog } from '../src/lib/log.ts';
import { createHookBus } from '../src/plugin-host/hook-bus.ts';

const LINKS = 8;
const installation: Context['installation'] = {
  baseUrl: 'http://127.0.0.1',
  secret: 'bench-secret-'.repeat(3),
  limits: {
    sendBatchSize: 500,
    planBatchSize: 10_000,
    importBatchSize: 20_000,
    sendAttemptsMax: 12,
    sendRetryDelaySeconds: 60,
    sendLeaseSeconds: 60,
    importBytesMax: 1,
    fileBytesMax: 1,
    billingGraceDays: 7,
  },
};

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    people: { type: 'string' },
    /** Internal: what the forked process serves. */
    serve: { type: 'string' },
    database: { type: 'string', default: '' },
  },
});
const seconds = Number(values.seconds ?? (values.smoke ? 1 : 5));
const people = Number(values.people ?? (values.smoke ? 1_000 : 50_000));
const connections = Number(values.connections);
let answered = 0;

if (values.serve === 'bare') serveBare();
else if (values.serve === 'inbound') await serveInbound(values.database);
else await main();

async function main(): Promise<void> {
  const postgres = await startScratchPostgres([
    'fsync=on',
    'synchronous_commit=on',
    'full_page_writes=on',
    'autovacuum=on',
  ]);
  const database = openDatabase({ url: postgres.url, poolSize: 2, log: silentLog });
  try {
    const paths = await seed(database, postgres.url);
    const before = await measure('bare node:http redirect', 'bare', { paths, url: postgres.url });
    const ours = await measure('tracked links', 'inbound', { paths, url: postgres.url });
    const after = await measure('bare again', 'bare', { paths, url: postgres.url });
    console.log(`tracked links reach ${((2 * ours) / (before + after)).toFixed(2)} of a bare redirect`);
    await proveCounted(database);
  } finally {
    await database.close();
    await postgres.stop();
  }
}

/** One campaign to everybody; answers a path per person, links in turn. */
async function seed(database: Database, url: string): Promise<string[]> {
  const migrations = await readMigrations(path.resolve(import.meta.dirname, '../prisma/migrations'));
  await migrate({ url, migrations, log: silentLog });
  const [row] = await database.query<{ customer_id: bigint; list_id: bigint; campaign_id: bigint }>(sql`
    WITH customer AS (INSERT INTO customer (uid, name) VALUES ('c', 'Bench') RETURNING id),
         list AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                  SELECT id, 'l', 'Bench', '', '', '' FROM customer RETURNING customer_id, id)
    INSERT INTO campaign (customer_id, uid, list_id, name) SELECT customer_id, 'k', id, 'Bench' FROM list
    RETURNING customer_id, list_id, id AS campaign_id`);
  if (!row) throw new Error('Nothing was seeded.');
  const { customer_id: customerId, list_id: listId, campaign_id: campaignId } = row;
  const ids = await database.query<{ id: bigint }>(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${customerId}, ${listId}, n || '@bench.invalid', n || '@bench.invalid', 'subscribed', '{}'
      FROM generate_series(1, ${people}::int) n RETURNING id`);
  await database.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await database.pool.query('ANALYZE');
  const signer = linkSignerOf(installation);
  return ids.map(({ id }, at) => {
    const links = signer.forRecipient({ customerId, listId, campaignId, subscriberId: id });
    return new URL(links.click(at % LINKS, `https://example.org/sale/${at % LINKS}?utm_source=newsletter`)).pathname;
  });
}

async function measure(
  name: string,
  serve: string,
  { paths, url }: { paths: readonly string[]; url: string },
): Promise<number> {
  const child = fork(fileURLToPath(import.meta.url), ['--serve', serve, '--database', url], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const port = await portOf(child);
  const latencies: number[] = [];
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: connections }, (_, lane) =>
      load({ port, paths, lane, until: startedAt + seconds * 1_000, latencies }),
    ),
  );
  const rate = latencies.length / ((performance.now() - startedAt) / 1_000);
  if (serve === 'inbound') answered += latencies.length;
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  console.log(`${name}: ${Math.round(rate)} answers/s, p99 ${p99.toFixed(1)} ms, ${connections} connections`);
  await stop(child);
  return rate;
}

interface Lane {
  readonly port: number;
  readonly paths: readonly string[];
  readonly lane: number;
  readonly until: number;
  readonly latencies: number[];
}

/** One connection that asks, waits for the answer, and asks again. The answers have no body. */
function load({ port, paths, lane, until, latencies }: Lane): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let at = Math.floor((lane * paths.length) / connections);
    let sentAt = 0;
    let received = '';
    const ask = () => {
      sentAt = performance.now();
      if (sentAt >= until) return void socket.end();
      at = (at + 1) % paths.length;
      socket.write(
        `GET ${paths[at]} HTTP/1.1\r\nHost: bench\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Bench/1\r\n\r\n`,
      );
    };
    socket.setNoDelay();
    socket.on('connect', ask);
    socket.on('close', () => resolve());
    socket.on('error', reject);
    socket.on('data', (data) => {
      received += data.toString('latin1');
      if (!received.endsWith('\r\n\r\n')) return;
      if (!received.startsWith('HTTP/1.1 302')) return reject(new Error(received));
      received = '';
      latencies.push(performance.now() - sentAt);
      ask();
    });
  });
}

async function proveCounted(database: Database): Promise<void> {
  const [row] = await database.query<{ counted: number; events: number; links: number }>(sql`
    SELECT (SELECT click_count FROM hot.tracking_counter) AS counted, (SELECT count(*)::int FROM hot.click_event) AS events,
           (SELECT sum(click_count)::int FROM hot.link_counter) AS links`);
  console.log(`answered ${answered}, counted ${row?.counted}, by link ${row?.links}, events ${row?.events}`);
  const isExact = row?.counted === answered && row.events === answered && row.links === answered;
  if (!isExact) throw new Error('Not every click was counted once.');
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (port) => resolve(Number(port)));
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.send('stop');
  await ended;
}

function serveBare(): void {
  const server = createServer((_req, res) => {
    res.writeHead(302, { Location: 'https://example.org/sale', 'Content-Length': 0 });
    res.end();
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  process.once('message', () => process.exit(0));
  process.once('disconnect', () => process.exit(1));
}

async function serveInbound(url: string): Promise<void> {
  const database = openDatabase({ url, poolSize: 5, log: silentLog });
  const ctx: Context = {
    ...{ db: database, database, tx: undefined, hooks: createHookBus(silentLog), clock: systemClock, log: silentLog },
    ...{ viewer: null, ipAddress: null, installation },
  };
  const inbound = createInbound(ctx, { webView: async () => undefined });
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, mounts: inbound.mounts, log: silentLog });
  process.send?.(server.port);
  process.once('disconnect', () => process.exit(1));
  process.once('message', () => {
    void server
      .close(100)
      .then(() => inbound.close())
      .then(() => database.close())
      .then(() => process.exit(0));
  });
}
