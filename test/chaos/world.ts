/** What a chaos run stands on: a durable database, a receiver, the product's processes, one campaign. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { startProduct, type Product } from '../../bench/support/product.ts';
import { startScratchPostgres, type ScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { startFaultySink, type FaultySink } from './faulty-sink.ts';
import { History, type FinalRow, type Snapshot } from './history.ts';
import { mountSmallDisk } from './small-disk.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

export interface WorldOptions {
  readonly recipients: number;
  readonly policy: 'park' | 'retry';
  readonly connections: number;
  readonly window: number;
  /** How long the receiver thinks about each message. */
  readonly delayMs: number;
  readonly settings: Readonly<Record<string, string>>;
  /** The database lies on a disk of its own that can be filled. */
  readonly smallDisk?: boolean;
  /** The processes have clocks that can be set wrong. */
  readonly shiftedClocks?: boolean;
}

export interface UnderWay {
  readonly ids: readonly string[];
  readonly epochs: readonly number[];
}

export interface World {
  readonly sink: FaultySink;
  readonly listUid: string;
  /** The newest one; snapshots and rows are of it. */
  readonly campaignUid: string;
  /** Makes the next campaign to the same people; from now on the receiver writes into this history. */
  newCampaign(web: Product, history: History): Promise<void>;
  startWeb(): Promise<Product>;
  /** `nodeOptions`: a module that is loaded before the product, say. */
  startWorker(settings?: Readonly<Record<string, string>>, nodeOptions?: readonly string[]): Promise<WorkerProcess>;
  /** Asks the database; tries again while it is away. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  snapshot(): Promise<Snapshot>;
  finalRows(): Promise<FinalRow[]>;
  /** Who is being sent to at this moment, and how many of them still are in the same attempt. */
  underWay(): Promise<UnderWay>;
  stillUnderWay(rows: UnderWay): Promise<number>;
  /** Ends the database's server without a word, as a power cut does; it comes back by itself. */
  cutDatabase(): Promise<void>;
  /** Leaves no space on the database's disk; answers how to give it back. Needs `smallDisk`. */
  fillDisk(): Promise<() => Promise<void>>;
  /** How many seconds off the clocks of the processes are, by their pids in turn. Needs `shiftedClocks`. */
  setClocks(offsets: readonly number[]): void;
  close(): Promise<void>;
}

/** As the product's own embedded server runs. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on'];
const SHIFTED_CLOCK = pathToFileURL(path.join(import.meta.dirname, 'shifted-clock.ts')).href;
const QUERY_TRIES_MAX = 200;
const QUERY_PAUSE_MS = 100;
const SENDER = { from_email: 'news@shop.example', from_name: 'Shop' };
const HTML =
  '<p>Hello {FIRST_NAME}, <a href="https://shop.example/offer">an offer</a>, <a href="{UNSUBSCRIBE_URL}">leave</a>.</p>';

/** Makes the world, in which there is no campaign yet. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const disk = options.smallDisk ? mountSmallDisk() : undefined;
  const postgres = await startScratchPostgres(DURABLE, disk?.folder);
  const now = { history: new History(), campaignUid: '' };
  const sink = await startFaultySink(options.delayMs, (to, messageId) =>
    now.history.write({ kind: 'accepted', to, messageId }),
  );
  const { query, end } = poolWithoutLimits(postgres);
  const clockFile = path.join(os.tmpdir(), `mailwright-clock-${process.pid}`);
  const setClocks = (offsets: readonly number[]): void => writeFileSync(clockFile, offsets.join(','));
  if (options.shiftedClocks) setClocks([0]);
  const settings = {
    SEND_LEASE_SECONDS: '3',
    SEND_RETRY_DELAY_SECONDS: '1',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'error',
    ...(options.shiftedClocks ? { NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, SHIFTED_CLOCK: clockFile } : {}),
    ...options.settings,
  };
  const startWeb = (): Promise<Product> => startProduct(postgres.url, { ...settings, ROLES: 'web' });
  const web = await startWeb();
  const listUid = await prepare(web, sink.port, { ...options, query });
  await web.stop();
  return {
    sink,
    listUid,
    get campaignUid() {
      return now.campaignUid;
    },
    async newCampaign(product, history) {
      now.history = history;
      now.campaignUid = await newCampaign(product, { listUid, policy: options.policy, query });
    },
    startWeb,
    startWorker: (more = {}, nodeOptions = []) =>
      startWorkerProcess(postgres.url, { ...settings, ...more }, nodeOptions),
    query,
    snapshot: () => takeSnapshot(query, now.campaignUid),
    finalRows: () => readFinalRows(query, now.campaignUid),
    underWay: () => readUnderWay(query),
    stillUnderWay: (rows) => countStillUnderWay(query, rows),
    cutDatabase: () => cutDatabase(query),
    async fillDisk() {
      if (!disk) throw new Error('The database has no disk of its own.');
      return disk.fill();
    },
    setClocks,
    async close() {
      sink.close();
      await end();
      await postgres.stop();
      disk?.unmount();
      rmSync(clockFile, { force: true });
    },
  };
}

type Query = World['query'];

function poolWithoutLimits(postgres: ScratchPostgres): { query: Query; end(): Promise<void> } {
  const pool = new pg.Pool({ connectionString: postgres.url, max: 3 });
  pool.on('error', () => undefined);
  return {
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      for (let tries = 1; ; tries++) {
        try {
          return (await pool.query<Row>(text, [...values])).rows;
        } catch (error) {
          if (tries === QUERY_TRIES_MAX) throw error;
          await new Promise((resume) => setTimeout(resume, QUERY_PAUSE_MS));
        }
      }
    },
    end: () => pool.end(),
  };
}

interface Preparation extends WorldOptions {
  readonly query: Query;
}

async function prepare(
  web: Product,
  sinkPort: number,
  { query, recipients, connections, window }: Preparation,
): Promise<string> {
  const address = { address_1: '1 High Street', city: 'Springfield', state: 'CA', zip: '12345', country_id: 1 };
  const contact = { company: 'Shop', phone: '1', email: 'shop@shop.example', ...address };
  const list = { name: 'Chaos', default_subject: 'News', ...SENDER, contact };
  const { list_uid } = await web.rest<{ list_uid: string }>('POST', '/lists', list);
  await query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
     SELECT l.customer_id, l.id, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}',
            jsonb_build_object('FIRST_NAME', 'Name' || n)
       FROM mail_list l, generate_series(1, $1::int) n`,
    [recipients],
  );
  const settings = { host: '127.0.0.1', port: sinkPort, encryption: 'none', connections, window };
  await web.rest('POST', '/sending_servers', { name: 'Sink', type: 'smtp', settings });
  return list_uid;
}

async function newCampaign(
  web: Product,
  { listUid, policy, query }: { listUid: string; policy: string; query: Query },
): Promise<string> {
  const campaign = { list_uid: listUid, name: 'Chaos', subject: 'News', ...SENDER, html: HTML };
  const { campaign_uid } = await web.rest<{ campaign_uid: string }>('POST', '/campaigns', campaign);
  await query('UPDATE campaign SET unknown_policy = $1 WHERE uid = $2', [policy, campaign_uid]);
  return campaign_uid;
}

/** One statement, so one instant. */
async function takeSnapshot(query: Query, campaignUid: string): Promise<Snapshot> {
  const [row] = await query<{
    status: string;
    rows: Record<string, number> | null;
    counters: Record<string, number> | null;
  }>(
    `SELECT c.status,
            (SELECT jsonb_object_agg(t.state, t.n) FROM (
               SELECT d.state::text AS state, count(*)::int AS n FROM hot.delivery d WHERE d.source_id = c.id GROUP BY 1) t) AS rows,
            (SELECT to_jsonb(k) - 'customer_id' - 'source_id' FROM hot.delivery_counter k WHERE k.source_id = c.id) AS counters
       FROM campaign c WHERE c.uid = $1`,
    [campaignUid],
  );
  return { kind: 'snapshot', status: row?.status ?? 'gone', rows: row?.rows ?? {}, counters: row?.counters ?? null };
}

async function readFinalRows(query: Query, campaignUid: string): Promise<FinalRow[]> {
  const rows = await query<{ email: string; state: string; ambiguous_count: number; attempts: number }>(
    `SELECT email, state::text AS state, ambiguous_count, attempts FROM hot.delivery
      WHERE source_id = (SELECT id FROM campaign WHERE uid = $1) ORDER BY recipient_id`,
    [campaignUid],
  );
  return rows.map(({ email, state, ambiguous_count, attempts }) => {
    return { kind: 'row', email, state, ambiguousCount: ambiguous_count, attempts };
  });
}

async function readUnderWay(query: Query): Promise<UnderWay> {
  const rows = await query<{ id: string; epoch: number }>(
    `SELECT recipient_id AS id, epoch FROM hot.delivery WHERE state = 'sending'`,
  );
  return { ids: rows.map(({ id }) => id), epochs: rows.map(({ epoch }) => epoch) };
}

async function countStillUnderWay(query: Query, { ids, epochs }: UnderWay): Promise<number> {
  const [row] = await query<{ count: number }>(
    `SELECT count(*)::int AS count FROM hot.delivery
      WHERE state = 'sending' AND (recipient_id, epoch) IN (SELECT * FROM unnest($1::bigint[], $2::int[]))`,
    [ids, epochs],
  );
  return row?.count ?? 0;
}

async function cutDatabase(query: Query): Promise<void> {
  const [row] = await query<{ folder: string }>(`SELECT current_setting('data_directory') AS folder`);
  const pidFile = path.join(row?.folder ?? '', 'postmaster.pid');
  // SIGQUIT: "immediate shutdown", nothing is written any more; the next start recovers from the log.
  process.kill(Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGQUIT');
}
