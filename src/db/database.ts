/**
 * Access to the database: plain statements, transactions with actions after the commit, COPY. All writes go through here; Prisma
 * (prisma.ts) reads for the GraphQL schema.
 */
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Sql } from 'sql-template-tag';
import { DatabaseClient } from './client.ts';
import { ConnectionWatch } from './connection-watch.ts';
import { recordRefusedWrite } from './full-disk.ts';
import type { Log } from '../lib/log.ts';
import { messageOf } from '../lib/errors.ts';
import { LibraryPool } from './library-pool.ts';
import { readBytes, readBytesFromPool } from './read-bytes.ts';
import { observe } from './observe-statements.ts';
import { repeatOnCollision } from './repeat-on-collision.ts';
import type { Columns, RowOf } from './row.ts';
import type { WorkLimits } from './work-limits.ts';

export { default as sql, empty, join, raw, Sql } from 'sql-template-tag';
export { row, typed, type Columns, type RowOf } from './row.ts';

/** Anything that runs statements: the pool, or one transaction. */
export interface Queryable {
  /**
   * Runs a statement and gives its rows: `query({ id: 'bigint', name: 'text?' }, sql`…`)`. The columns are compared with the
   * result under test. `name` makes it a prepared statement: for hot, constant texts only.
   */
  query<const Of extends Columns>(columns: Of, statement: Sql, name?: string): Promise<RowOf<Of>[]>;
  /** Runs a statement and gives the number of rows that it wrote, or found if it is a SELECT. */
  execute(statement: Sql, name?: string): Promise<number>;
  /**
   * The bytes in the only column of `select`, without conversion to text; undefined when there are none. Its values may be whole
   * numbers only.
   */
  readBytes(select: Sql): Promise<Buffer | undefined>;
}

/** Texts, or bytes in UTF-8 that stay as they are until `copy` has ended. */
export type CopyPieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

export interface Transaction extends Queryable {
  /** Runs after the work, before the commit: what one transaction collects is written once. */
  beforeCommit(act: () => Promise<void>): void;
  /** Runs if and only if the transaction has committed. Must not fail; what it throws is logged. */
  afterCommit(act: () => void | Promise<void>): void;
  /** Streams text-format COPY data (`COPY … FROM STDIN`) from the pieces given. */
  copy(statement: string, pieces: CopyPieces): Promise<void>;
}

export interface Database extends Queryable {
  readonly pool: pg.Pool;
  readonly url: string;
  /** Another pool on the same database, for a library that needs one; the caller ends it. */
  openPool(options: { readonly size: number; readonly applicationName: string }): pg.Pool;
  /** The same database for another kind of work, with its own connections and limits. It is closed with this one. */
  besides(options: PoolOptions): Database;
  /** A separate connection without limits, for work that listens, holds a lock or takes long; the caller ends it. */
  connect(applicationName: string): Promise<DatabaseClient>;
  /** For how long the server has answered nobody, as far as this process knows; undefined: it answers. */
  silentMs(): number | undefined;
  /**
   * One transaction: commits when `work` resolves, rolls back when it throws. After a deadlock `work` runs again from its
   * beginning, so it must have no effect outside of the transaction; other effects belong into `afterCommit`.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly poolSize: number;
  readonly applicationName: string;
  /** Absent: none. */
  readonly limits?: WorkLimits | undefined;
}

export interface DatabaseOptions extends Omit<PoolOptions, 'applicationName'> {
  readonly url: string;
  readonly log: Log;
  readonly applicationName?: string;
}

const CONNECT_TIMEOUT_MS = 10_000;
const CLOSE_MS_MAX = 3_000;

/** The client has no name for `bigint[]`, and gives its members as texts. */
const INT8_ARRAY: number = 1016;
const membersOf: (array: string) => string[] = pg.types.getTypeParser(INT8_ARRAY);
const PARSERS = new Map<number, (text: string) => unknown>([
  [pg.types.builtins.INT8, BigInt],
  [INT8_ARRAY, (array) => membersOf(array).map(BigInt)],
  // A date stays the text YYYY-MM-DD: as a Date it would depend on the time zone of the process.
  [pg.types.builtins.DATE, String],
]);

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format === 'binary' ? undefined : PARSERS.get(oid)) ?? pg.types.getTypeParser(oid, format ?? 'text'),
};

/** Opens a pool on the database at `url`. Nothing is connected until the first statement. */
export function openDatabase({ url, log, applicationName = 'mailwright', ...options }: DatabaseOptions): Database {
  const watch = new ConnectionWatch({ connectionString: url, application_name: 'mailwright-watch' }, log);
  const database = databaseOn({ url, log, watch }, { ...options, applicationName });
  return {
    ...database,
    async close() {
      await database.close();
      watch.close();
    },
  };
}

interface Server {
  readonly url: string;
  readonly log: Log;
  readonly watch: ConnectionWatch;
}

function databaseOn(server: Server, { poolSize, applicationName, limits }: PoolOptions): Database {
  const { url, log, watch } = server;
  const pool = openPool(server, { max: poolSize, types, application_name: applicationName }, limits);
  const statements = statementsOf(pool);
  const others: Database[] = [];
  let isClosing = false;
  pool.on('error', (error) => {
    if (!isClosing) log.warn('database.connection_lost', { message: error.message });
  });
  return {
    pool,
    url,
    openPool: (options) => openPool(server, { max: options.size, application_name: options.applicationName }),
    besides(options) {
      const other = databaseOn(server, options);
      others.push(other);
      return other;
    },
    connect: (name) => connect(url, name, watch),
    silentMs: () => watch.silentMs(),
    query: (columns, statement, name) => repeatOnCollision(() => statements.query(columns, statement, name), log),
    execute: (statement, name) => repeatOnCollision(() => statements.execute(statement, name), log),
    readBytes: (select) => repeatOnCollision(() => statements.readBytes(select), log),
    transaction: (work) => repeatOnCollision(() => runTransaction(pool, log, work), log),
    async close() {
      isClosing = true;
      await Promise.all([ended(pool), ...others.map((other) => other.close())]);
    },
  };
}

function openPool({ url, watch }: Server, config: pg.PoolConfig, limits?: WorkLimits): pg.Pool {
  const opened = new LibraryPool({
    Client: DatabaseClient,
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // A connection without its limits and its time zone is not used.
    onConnect: (client) =>
      void beWatched(client, { watch, limits }).catch((error: unknown) => {
        if (client instanceof DatabaseClient) client.destroy(messageOf(error));
      }),
    ...config,
  });
  opened.on('connect', (client) => client.on('error', () => undefined));
  return opened;
}

/** A statement that takes minutes would delay the end; the server rolls it back. */
async function ended(pool: pg.Pool): Promise<void> {
  const late = new AbortController();
  await Promise.race([pool.end(), sleep(CLOSE_MS_MAX, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}

interface Watching {
  readonly watch: ConnectionWatch;
  readonly limits?: WorkLimits | undefined;
  readonly hasHeartbeat?: boolean;
}

/** Also while the session begins, which is a statement like any other. */
async function beWatched(client: pg.ClientBase, { watch, limits, hasHeartbeat = false }: Watching): Promise<void> {
  if (!(client instanceof DatabaseClient)) return;
  watch.add(client, hasHeartbeat);
  await client.beginSession(limits);
}

async function connect(url: string, name: string, watch: ConnectionWatch): Promise<DatabaseClient> {
  const client = new DatabaseClient({
    connectionString: url,
    keepAlive: true,
    types,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  await beWatched(client, { watch, hasHeartbeat: true });
  return client;
}

/** Statements on one connection, or on any of a pool. */
export function statementsOf(runner: LibraryPool | pg.ClientBase): Queryable {
  return {
    async query<const Of extends Columns>(columns: Of, statement: Sql, name?: string) {
      const compare = observe(statement, columns);
      const result = await runner.query<RowOf<Of>>(config(statement, name)).catch(noted);
      compare?.(result);
      return result.rows;
    },
    async execute(statement, name) {
      observe(statement);
      return (await runner.query(config(statement, name)).catch(noted)).rowCount ?? 0;
    },
    readBytes(select) {
      observe(select);
      return runner instanceof LibraryPool ? readBytesFromPool(runner, select) : readBytes(runner, select);
    },
  };
}

function noted(error: unknown): never {
  recordRefusedWrite(error);
  throw error;
}

const PREPARED_NAMES_MAX = 1_000;
const preparedNames = new Map<string, string>();

/**
 * A name for a statement that is put together from few parts, so that each of its texts is prepared once per connection: `prefix`
 * and a number for the text. Undefined when there are too many texts: then it is not prepared.
 */
export function preparedName(prefix: string, { text }: Sql): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined || preparedNames.size >= PREPARED_NAMES_MAX) return known;
  const name = `${prefix}.${preparedNames.size}`;
  preparedNames.set(text, name);
  return name;
}

function config(statement: Sql, name: string | undefined): pg.QueryConfig {
  return { text: statement.text, values: statement.values, ...(name === undefined ? {} : { name }) };
}

async function runTransaction<T>(pool: pg.Pool, log: Log, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const acts: Acts = { before: [], after: [] };
  let broken = false;
  try {
    await client.query('BEGIN');
    const result = await work(transactionOn(client, acts));
    for (const act of acts.before) await act();
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back: a statement in it had failed.');
    await runActs(acts.after, log);
    return result;
  } catch (error) {
    broken = !(await rolledBack(client));
    throw error;
  } finally {
    client.release(broken);
  }
}

interface Acts {
  readonly before: (() => Promise<void>)[];
  readonly after: (() => void | Promise<void>)[];
}

function transactionOn(client: pg.PoolClient, acts: Acts): Transaction {
  return {
    ...statementsOf(client),
    beforeCommit: (act) => void acts.before.push(act),
    afterCommit: (act) => void acts.after.push(act),
    async copy(statement, pieces) {
      observe({ text: statement });
      const stream = client.query(copyFrom(statement));
      const done = finished(stream);
      setFeeding(client, true);
      for await (const piece of pieces) {
        setFeeding(client, false);
        if (!stream.write(piece)) await Promise.race([new Promise((resume) => stream.once('drain', resume)), done]);
        setFeeding(client, true);
      }
      setFeeding(client, false);
      stream.end();
      await done;
    },
  };
}

function setFeeding(client: pg.PoolClient, isFeeding: boolean): void {
  if (client instanceof DatabaseClient) client.isFeeding = isFeeding;
}

async function rolledBack(client: pg.PoolClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}

async function runActs(acts: readonly (() => void | Promise<void>)[], log: Log): Promise<void> {
  for (const act of acts) {
    try {
      await act();
    } catch (error) {
      log.error('database.after_commit_failed', { message: messageOf(error) });
    }
  }
}
