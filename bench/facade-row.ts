/**
 * What the facade costs: `GET /subscribers` (25 rows with 3 fields, of a long list) over REST, the same operation over
 * `/graphql`, and the bare SQL through `pg` in a plain `node:http` server. Each server has one core to itself, the
 * database and the load share the other; they are asked in turns.
 *
 *   node bench/facade-row.ts [--smoke] [--people 200000] [--seconds 4] [--rounds 3] [--connections 16]
 *
 * The bare server answers the same body from the SQL of the row: the token's look-up, the page's rows, the counter; and,
 * as a further figure, without looking at a token. Bars: REST at least 0.35 of it, and not slower than `/graphql`.
 */
import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { BENCH_TOKEN, cpuSecondsOf, startProduct } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    people: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    connections: { type: 'string', default: '16' },
    /** Internal: serves the bare SQL for this list of this database. */
    bare: { type: 'string' },
    list: { type: 'string', default: '' },
  },
});
const people = Number(values.people ?? (values.smoke ? 2_000 : 200_000));
const seconds = Number(values.seconds ?? (values.smoke ? 0.5 : 4));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 3));
const connections = Number(values.connections);
const PER_PAGE = 25;
const WARM_UP_SECONDS = 3;

/** What REST shows of a row, asked for over GraphQL: the facade's own operation. */
const OPERATION = `query Subscribers($listUid: String, $page: Int!, $perPage: Int!) {
  subscribersPage(listUid: $listUid, page: $page, perPage: $perPage) {
    __typename
    ... on SubscriberPage { nodes { id uid email status fieldValues } total page perPage }
  }
}`;

interface Target {
  readonly name: string;
  /** Of the process that answers. */
  readonly pid: number;
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: string;
}

if (values.bare === undefined) await main();
else await serveBare(values.bare, BigInt(values.list));

async function main(): Promise<void> {
  // Before the database is started, which stays where its parent is.
  hold(process.pid, 'other cores');
  const postgres = await startScratchPostgres(['fsync=on', 'autovacuum=on', 'shared_buffers=256MB']);
  const product = await startProduct(postgres.url, { ROLES: 'web' });
  let bare: { child: ChildProcess; port: number } | undefined;
  try {
    const { uid, id } = await makeList(postgres.url);
    bare = await startBare(postgres.url, id);
    for (const pid of [product.pid, bare.child.pid ?? 0]) hold(pid, 'first core');
    const targets: Target[] = [
      { name: 'bare SQL', pid: bare.child.pid ?? 0, method: 'GET', url: `http://127.0.0.1:${bare.port}/` },
      {
        name: 'bare SQL, no token',
        pid: bare.child.pid ?? 0,
        method: 'GET',
        url: `http://127.0.0.1:${bare.port}/open`,
      },
      {
        name: 'REST',
        pid: product.pid,
        method: 'GET',
        url: `${product.url}/api/v1/subscribers?list_uid=${uid}&per_page=${PER_PAGE}`,
      },
      {
        name: 'GraphQL',
        pid: product.pid,
        method: 'POST',
        url: `${product.url}/graphql`,
        body: JSON.stringify({ query: OPERATION, variables: { listUid: uid, page: 1, perPage: PER_PAGE } }),
      },
    ];
    const [bareFigures, open, rest, graphql] = await inTurns(targets);
    if (!bareFigures || !open || !rest || !graphql) return;
    const compare = (other: Figures) =>
      `${(rest.rate / other.rate).toFixed(2)} by rate, ${(other.cpuMs / rest.cpuMs).toFixed(2)} by processor time`;
    console.log(`REST reaches ${compare(bareFigures)} of the bare SQL (asked 0.35)`);
    console.log(`REST reaches ${compare(open)} of the bare SQL without a token`);
    console.log(`REST reaches ${compare(graphql)} of GraphQL (asked 1)`);
  } finally {
    bare?.child.kill();
    await product.stop();
    await postgres.stop();
  }
}

/** A list of the administrator's, filled by one statement. */
async function makeList(url: string): Promise<{ uid: string; id: bigint }> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
    SELECT id, '00000000000ab', 'People', 'News', 'a@shop.example', 'Shop' FROM customer LIMIT 1 RETURNING id, uid, customer_id`);
  const { id, uid, customer_id: customerId } = rows[0];
  await client.query(
    `INSERT INTO list_field (customer_id, uid, list_id, type, label, tag)
     SELECT $1, 'f' || n, $2, 'text', tag, tag FROM unnest(ARRAY['FIRST_NAME','LAST_NAME','CITY']) WITH ORDINALITY t(tag, n)`,
    [customerId, id],
  );
  await client.query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields, tags)
     SELECT $1, $2, 'person' || n || '@example.org', 'person' || n || '@example.org', 'subscribed',
            jsonb_build_object('FIRST_NAME', 'Name' || n, 'LAST_NAME', 'Last' || n % 100, 'CITY', 'City' || n % 50), '{}'
       FROM generate_series(1, $3::int) n`,
    [customerId, id, people],
  );
  await client.query('VACUUM ANALYZE');
  await client.end();
  return { uid, id: BigInt(id) };
}

interface Figures {
  /** Requests per second. */
  readonly rate: number;
  /** Processor time of the server a request: says more than the rate where others load the machine too. */
  readonly cpuMs: number;
}

/** The median of the rounds, by rate. */
async function inTurns(targets: readonly Target[]): Promise<Figures[]> {
  const figures = targets.map((): Figures[] => []);
  // What is compiled on the way is not what is measured.
  for (const target of targets) await ask(target, Math.min(WARM_UP_SECONDS, seconds));
  for (let round = 0; round < rounds; round++) {
    for (const [at, target] of targets.entries()) figures[at]?.push(await ask(target, seconds));
  }
  return targets.map(({ name }, at) => {
    const sorted = (figures[at] ?? []).toSorted((a, b) => a.rate - b.rate);
    const median = sorted[Math.floor(sorted.length / 2)] ?? { rate: 0, cpuMs: 0 };
    const all = sorted.map(({ rate }) => Math.round(rate)).join(', ');
    console.log(
      `${name}: ${Math.round(median.rate)} requests/s (${all}), ${median.cpuMs.toFixed(2)} ms of processor each`,
    );
    return median;
  });
}

/** Asks over kept-open connections, one request after the other on each. */
async function ask(target: Target, duration: number): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const startedAt = performance.now();
  const cpuBefore = cpuSecondsOf(target.pid);
  let answered = 0;
  const lane = async () => {
    while (performance.now() < startedAt + duration * 1_000) {
      await requestOnce(target, agent);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const cpuMs = ((cpuSecondsOf(target.pid) - cpuBefore) * 1_000) / answered;
  agent.destroy();
  return { rate: answered / ((performance.now() - startedAt) / 1_000), cpuMs };
}

function requestOnce({ method, url, body }: Target, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const req = request(url, {
      method,
      agent,
      headers: {
        Authorization: `Bearer ${BENCH_TOKEN}`,
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
      },
    });
    req.on('error', reject);
    req.on('response', (res) => {
      res.resume();
      res.on('end', () =>
        res.statusCode === 200 ? resolve() : reject(new Error(`${url} answered ${res.statusCode}.`)),
      );
    });
    req.end(body);
  });
}

/** Holds a process to the first core, or keeps it off that one; where the system cannot say so, all share all. */
function hold(pid: number, place: 'first core' | 'other cores'): void {
  if (availableParallelism() < 2) return;
  try {
    const cores = place === 'first core' ? '0' : `1-${availableParallelism() - 1}`;
    execFileSync('taskset', ['-a', '-cp', cores, String(pid)], { stdio: 'ignore' });
  } catch {
    console.log('taskset is not here: nobody is held to a core.');
  }
}

async function startBare(url: string, list: bigint): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fileURLToPath(import.meta.url), ['--bare', url, '--list', String(list)], {
    execArgv: ['--max-semi-space-size=8'],
  });
  const [port] = await once(child, 'message');
  return { child, port: Number(port) };
}

/** The yardstick: a pool, two prepared statements, one body. */
async function serveBare(url: string, list: bigint): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const page = {
    name: 'page',
    text: `SELECT id, email, status, fields FROM subscriber WHERE customer_id = 1 AND list_id = $1 ORDER BY id LIMIT ${PER_PAGE}`,
    values: [list],
  };
  const total = {
    name: 'total',
    text: 'SELECT subscribed + unsubscribed + unconfirmed + pending AS total FROM hot.list_counter WHERE customer_id = 1 AND list_id = $1',
    values: [list],
  };
  const tokenOf = (header = '') => ({
    name: 'token',
    text: `SELECT t.id, u.id AS user_id, t.scopes FROM api_token t
             JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
             JOIN customer c ON c.id = t.customer_id
            WHERE t.digest = $1 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
              AND u.status = 'active' AND c.status = 'active'`,
    values: [createHash('sha256').update(header.slice('Bearer '.length)).digest()],
  });
  const server = createServer(async (req, res) => {
    if (req.url !== '/open') {
      const found = await pool.query(tokenOf(req.headers.authorization));
      if (found.rows.length === 0) return void res.writeHead(401).end();
    }
    await Promise.all([pool.query(page), pool.query(total)]).then(([rows, counts]) => {
      const data = rows.rows.map(({ id, email, status, fields }) => ({ id: Number(id), email, status, ...fields }));
      const text = JSON.stringify({
        data,
        links: {},
        meta: { current_page: 1, per_page: PER_PAGE, total: counts.rows[0].total },
      });
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
      res.end(text);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  process.once('disconnect', () => process.exit(0));
}
