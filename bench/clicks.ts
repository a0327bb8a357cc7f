/**
 * Clicks and opens per second, each answered after its commit, beside a bare node:http server that redirects without
 * looking: same load, same connections, interleaved rounds of one run; what each costs in processor time; how long it
 * took until the last one was counted; and proof that every one was counted once, also of those that a server answered
 * before it was killed (kill -9).
 *
 *   node bench/clicks.ts [--smoke] [--seconds 5] [--rounds 3] [--connections 64] [--people 50000]
 *   node bench/clicks.ts --beside <another clone>     the servers of both in turns, direct and behind nginx with TLS
 *
 * The database is a scratch one with its durability switched on, as in production.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { queryRows } from '../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../src/db/database.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import type { Context } from '../src/domain/context.ts';
import { linkSignerOf } from '../src/domain/tracking/link-signer.ts';
import type { SharedLink } from '../src/domain/tracking/shared-links.ts';
import type { TrackedRecipient } from '../src/domain/tracking/tracking.ts';
import { startHttpServer } from '../src/http/http-server.ts';
import { createInbound } from '../src/inbound/inbound-mounts.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLog } from '../src/lib/log.ts';
import { createHookBus } from '../src/plugin-host/hook-bus.ts';
import { startBenchDatabase } from './support/bench-database.ts';
import { requestLinks, type LinkLoad } from './support/link-load.ts';
import { median } from './support/median.ts';
import { startNginxFront } from './support/nginx-front.ts';
import { recipientOfCampaign } from '../src/domain/tracking/tracking.ts';
import { cpuMsOf, cpuMsOfAll, postmasterOf } from './support/processor-time.ts';

const LINKS = 8;
const WARM_UP_SHARE = 0.4;
const installation: Context['installation'] = {
  baseUrl: 'http://127.0.0.1',
  secret: 'bench-secret-'.repeat(3),
  limits: {
    sendBatchSize: 500,
    snapshotBatchSize: 10_000,
    importBatchSize: 20_000,
    sendAttemptsMax: 12,
    sendRetryDelaySeconds: 60,
    sendLeaseSeconds: 60,
    bouncePause: { percent: 95, recipients: 1_000 },
    importBytesMax: 1,
    fileBytesMax: 1,
    billingGraceDays: 7,
    sessionDays: { idle: 30, inAll: 90 },
  },
};

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    people: { type: 'string' },
    beside: { type: 'string' },
    /** Internal: what the forked process serves. */
    serve: { type: 'string' },
    database: { type: 'string', default: '' },
  },
});
const seconds = Number(values.seconds ?? (values.smoke ? 1 : 5));
const people = Number(values.people ?? (values.smoke ? 1_000 : 50_000));
const connections = Number(values.connections);
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 3));
const answered = { clicks: 0, opens: 0 };

if (values.serve === 'bare') serveBare();
else if (values.serve === 'inbound') await serveInbound(values.database);
else await withWorld(values.beside ? compareWith(values.beside) : main);

type Kind = 'clicks' | 'opens';
interface World {
  readonly url: string;
  readonly database: Database;
  readonly paths: Readonly<Record<Kind, readonly string[]>>;
}

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const postgres = await startBenchDatabase(values.smoke);
  const database = openDatabase({ url: postgres.url, poolSize: 2, log: silentLog });
  try {
    await work({ url: postgres.url, database, paths: await seed(database, postgres.url) });
  } finally {
    await database.close();
    await postgres.stop();
  }
}

async function main(world: World): Promise<void> {
  const shares: Record<Kind, number[]> = { clicks: [], opens: [] };
  for (let round = 0; round < rounds; round++) {
    const before = await measureBare(world);
    const { rate: clicks } = await measureOurs(world, 'clicks');
    const between = await measureBare(world);
    const { rate: opens } = await measureOurs(world, 'opens');
    const after = await measureBare(world);
    shares.clicks.push((2 * clicks) / (before + between));
    shares.opens.push((2 * opens) / (between + after));
  }
  for (const kind of ['clicks', 'opens'] as const)
    console.log(`${kind} reach ${median(shares[kind]).toFixed(2)} of a bare redirect`);
  await proveCounted(world.database);
  await proveNothingIsLost(world);
}

/** This clone and another: which is first changes from round to round. */
function compareWith(other: string): (world: World) => Promise<void> {
  return async (world) => {
    const costs = new Map<string, number[]>();
    for (let round = 0; round < rounds; round++)
      for (const kind of ['clicks', 'opens'] as const)
        for (const isProxied of [false, true])
          for (const whose of round % 2 === 0 ? ['here', 'there'] : ['there', 'here']) {
            const name = `${kind} ${isProxied ? 'behind nginx' : 'direct'}, ${whose}`;
            console.log(name);
            const { cpuUs } = await measureOurs(world, kind, {
              isProxied,
              ...(whose === 'there' ? { clone: other } : {}),
            });
            costs.set(name, [...(costs.get(name) ?? []), cpuUs]);
          }
    console.log('processor time of nginx, server and database for each, median and all rounds:');
    for (const [name, all] of costs) console.log(`${name}: ${median(all)} µs (${all.join(', ')})`);
  };
}

/** One campaign to everybody; answers a link and a pixel per person, links in turn. */
async function seed(database: Database, url: string): Promise<World['paths']> {
  const migrations = await readMigrations(path.resolve(import.meta.dirname, '../prisma/migrations'));
  await migrate({ url, migrations, log: silentLog });
  const [row] = await queryRows<{ customer_id: bigint; list_id: bigint; campaign_id: bigint }>(
    database,
    sql`
    WITH customer AS (INSERT INTO customer (uid, name) VALUES ('c', 'Bench') RETURNING id),
         list AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                  SELECT id, 'l', 'Bench', '', '', '' FROM customer RETURNING customer_id, id)
    INSERT INTO campaign (customer_id, uid, list_id, name) SELECT customer_id, 'k', id, 'Bench' FROM list
    RETURNING customer_id, list_id, id AS campaign_id`,
  );
  if (!row) throw new Error('Nothing was seeded.');
  const { customer_id: customerId, list_id: listId, campaign_id: campaignId } = row;
  const ids = await queryRows<{ id: bigint }>(
    database,
    sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${customerId}, ${listId}, n || '@bench.invalid', n || '@bench.invalid', 'subscribed', '{}'
      FROM generate_series(1, ${people}::int) n RETURNING id`,
  );
  await database.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await database.pool.query('ANALYZE subscriber');
  const signer = linkSignerOf(installation);
  const everybody = ids.map(({ id }) => recipientOfCampaign({ customerId, listId, campaignId, subscriberId: id }));
  const targets = Array.from({ length: LINKS }, (_, no) => ({
    no,
    url: `https://example.org/sale/${no}?utm_source=newsletter`,
  }));
  const [first] = everybody;
  if (!first) throw new Error('Nobody was seeded.');
  const shared = signer.forRecipient(first).share(targets);
  // As they stand in mails.
  const pathOf = (link: SharedLink, whose: TrackedRecipient): string => {
    signer.forRecipient(whose).share(targets, shared);
    const { before, code, after } = shared.around(link) ?? { before: '', code: undefined, after: '' };
    const memory = Buffer.alloc(100);
    return new URL(`${before}${memory.toString('latin1', 0, code?.write(memory, 0))}${after}`).pathname;
  };
  return {
    clicks: everybody.map((whose, at) => {
      const { no, url } = targets[at % LINKS] ?? { no: 0, url: '' };
      return pathOf({ kind: 'click', no, url }, whose);
    }),
    opens: everybody.map((whose) => pathOf({ kind: 'open' }, whose)),
  };
}

async function measureBare(world: World): Promise<number> {
  const server = await start('bare', world);
  await warmUp(server, world.paths.clicks);
  const before = cpuMsOf(server.child.pid ?? 0);
  const { rate, answers } = await run('bare node:http redirect', server, world.paths.clicks);
  console.log(`  each cost the server ${Math.round(((cpuMsOf(server.child.pid ?? 0) - before) * 1_000) / answers)} µs`);
  await server.stop();
  return rate;
}

async function measureOurs(
  world: World,
  kind: Kind,
  which: WhichServer = {},
): Promise<{ rate: number; cpuUs: number }> {
  const server = await start('inbound', world, which);
  const front = which.isProxied ? await startNginxFront(server.port) : undefined;
  const reached = { port: front?.port ?? server.port, isTls: front !== undefined };
  const postmaster = await postmasterOf(world.database);
  const spent = () => ({
    server: cpuMsOf(server.child.pid ?? 0),
    database: cpuMsOfAll(postmaster),
    front: front ? cpuMsOf(front.pid) : 0,
  });
  const commits = async () =>
    (await queryRows<{ n: number }>(world.database, sql`SELECT last_value::int AS n FROM hot.tracking_event_id_seq`))[0]
      ?.n ?? 0;
  answered[kind] += await warmUp(reached, world.paths[kind]);
  await untilMoved(world.database);
  const commitsBefore = await commits();
  const before = spent();
  const { rate, answers } = await run(kind, reached, world.paths[kind]);
  answered[kind] += answers;
  const endedAt = performance.now();
  const { waiting } = (
    await queryRows<{ waiting: number }>(
      world.database,
      sql`SELECT coalesce(sum(size), 0)::int AS waiting FROM hot.tracking_event`,
    )
  )[0] ?? { waiting: 0 };
  await untilMoved(world.database);
  const after = spent();
  const together = (answers / ((await commits()) - commitsBefore)).toFixed(0);
  const each = (ms: number) => Math.round((ms * 1_000) / answers);
  const [ofServer, ofDatabase, ofFront] = (['server', 'database', 'front'] as const).map((who) =>
    each(after[who] - before[who]),
  );
  console.log(
    `  ${waiting} not yet counted at the end, all after ${Math.round(performance.now() - endedAt)} ms; each cost the server ` +
      `${ofServer} µs, the database ${ofDatabase} µs${front ? `, nginx ${ofFront} µs` : ''}; ${together} a commit`,
  );
  await front?.stop();
  await server.stop();
  return { rate, cpuUs: (ofServer ?? 0) + (ofDatabase ?? 0) + (ofFront ?? 0) };
}

async function untilMoved(database: Database): Promise<void> {
  while ((await queryRows(database, sql`SELECT 1 FROM hot.tracking_event LIMIT 1`)).length > 0) await sleep(10);
}

/** What was answered is there after a kill; what was under way may be, once. */
async function proveNothingIsLost(world: World): Promise<void> {
  const count = async () =>
    (await queryRows<{ n: number }>(world.database, sql`SELECT count(*)::int AS n FROM hot.click_event`))[0]?.n ?? 0;
  let [sure, kept] = [0, 0];
  const kills = values.smoke ? 2 : 10;
  for (let kill = 0; kill < kills; kill++) {
    const before = await count();
    const server = await start('inbound', world);
    const latencies: number[] = [];
    const loads = requestLinks({
      port: server.port,
      paths: world.paths.clicks,
      connections,
      until: Infinity,
      latencies,
    });
    await sleep(100 + Math.random() * 400);
    server.child.kill('SIGKILL');
    await loads;
    const next = await start('inbound', world);
    await untilMoved(world.database);
    const found = (await count()) - before;
    if (found < latencies.length || found > latencies.length + connections)
      throw new Error(`Of ${latencies.length} acknowledged clicks ${found} were counted.`);
    [sure, kept] = [sure + latencies.length, kept + found];
    await next.stop();
  }
  console.log(`${kills} kills: ${sure} clicks were acknowledged, none is missing; ${kept - sure} more were under way`);
}

/** Code that is compiled and connections of the pool that are open: as a server that has run for a while. */
async function warmUp({ port, isTls }: Reached, paths: readonly string[]): Promise<number> {
  const latencies: number[] = [];
  await requestLinks({
    port,
    isTls,
    paths,
    connections,
    until: performance.now() + seconds * WARM_UP_SHARE * 1_000,
    latencies,
  });
  return latencies.length;
}

async function run(
  name: string,
  { port, isTls }: Reached,
  paths: readonly string[],
): Promise<{ rate: number; answers: number }> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  await requestLinks({ port, isTls, paths, connections, until: startedAt + seconds * 1_000, latencies });
  const rate = latencies.length / ((performance.now() - startedAt) / 1_000);
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  console.log(`${name}: ${Math.round(rate)} answers/s, p99 ${p99.toFixed(1)} ms, ${connections} connections`);
  return { rate, answers: latencies.length };
}

async function proveCounted(database: Database): Promise<void> {
  const [row] = await queryRows<{
    counted: number;
    events: number;
    links: number;
    opens: number;
    openEvents: number;
  }>(
    database,
    sql`
    WITH c AS (SELECT customer_id, id AS source_id FROM campaign WHERE uid = 'k')
    SELECT (SELECT click_count FROM c JOIN hot.tracking_counter USING (customer_id, source_id)) AS counted,
           (SELECT count(*)::int FROM c JOIN hot.click_event USING (customer_id, source_id)) AS events,
           (SELECT sum(click_count)::int FROM c JOIN hot.link_counter USING (customer_id, source_id)) AS links,
           (SELECT open_count FROM c JOIN hot.tracking_counter USING (customer_id, source_id)) AS opens,
           (SELECT count(*)::int FROM c JOIN hot.open_event USING (customer_id, source_id) WHERE NOT by_click) AS "openEvents"`,
  );
  const { clicks, opens } = answered;
  console.log(`answered ${clicks} clicks, counted ${row?.counted}, by link ${row?.links}, events ${row?.events}`);
  console.log(`answered ${opens} opens, counted ${row?.opens} with those known by a click, events ${row?.openEvents}`);
  const isExact = row?.counted === clicks && row.events === clicks && row.links === clicks && row.openEvents === opens;
  if (!isExact) throw new Error('Not every visit was counted once.');
}

interface WhichServer {
  readonly isProxied?: boolean;
  /** Its folder; absent: this one. */
  readonly clone?: string;
}

type Reached = Pick<LinkLoad, 'port' | 'isTls'>;

interface Served {
  readonly child: ChildProcess;
  readonly port: number;
  stop(): Promise<void>;
}

async function start(serve: string, { url }: World, { clone }: WhichServer = {}): Promise<Served> {
  const program = clone ? path.resolve(clone, 'bench/clicks.ts') : fileURLToPath(import.meta.url);
  const child = fork(program, ['--serve', serve, '--database', url], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    ...(process.env['PROFILE'] && serve === 'inbound'
      ? { execArgv: ['--cpu-prof', `--cpu-prof-dir=${process.env['PROFILE']}`] }
      : {}),
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve(Number(message)));
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
  });
  return {
    child,
    port,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.send('stop');
      await ended;
    },
  };
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
  const inbound = await createInbound(ctx, {
    webView: async () => undefined,
    preview: async () => ({ kind: 'unknown' }),
  });
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
