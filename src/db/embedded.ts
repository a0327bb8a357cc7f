/**
 * The embedded database: a real PostgreSQL from npm under the data directory, started and stopped with the program. It runs in
 * its own session, so that Ctrl-C on the terminal reaches the program first and the database last. A server that a killed program
 * left behind is taken over; one that another process starts at the same moment is shared.
 */
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import pg from 'pg';
import { messageOf } from '../lib/errors.ts';
import { databaseUserFor, spawnIdentity } from './embedded-user.ts';
import { loadBinaries } from './embedded-binaries.ts';
import { makeCluster, SUPERUSER, type Place } from './embedded-cluster.ts';
import {
  answerForServer,
  answersForServer,
  replacePidInFile,
  hasSettings,
  runningServer,
  stopServer,
} from './embedded-server.ts';
import { lastWordIn, LOG_SETTINGS, openLog, rotateLog } from './embedded-log.ts';
import { freePort } from './free-port.ts';

export interface EmbeddedDatabase {
  readonly url: string;
  /** Stops the server in its "fast" mode: open transactions are rolled back, everything committed is on disk. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Its own folder; made when absent. */
  readonly folder: string;
  /** Further server settings, `name=value`. */
  readonly settings?: readonly string[];
}

const DATABASE = 'mailwright';
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
/** Remains of a killed server may prevent the start of the next one for a moment. */
const LAUNCHES_MAX = 2;
const RELAUNCH_DELAY_MS = 500;
/** How long a dead database stays down at most; also longer than a start needs to write its pid file. */
const GUARD_INTERVAL_MS = 2_000;

type Server = Place & { readonly settings: readonly string[] };

/** Starts the database in `folder`, makes it first if necessary, and returns its address: loopback, a free port. */
export async function startEmbeddedDatabase({ folder, settings = [] }: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const data = path.join(folder, 'data');
  const user = databaseUserFor(folder, data);
  const server = { folder, data, user, settings, binaries: await loadBinaries(user, folder) };
  const password = makeCluster(server);
  await endOlderServer(server);
  const port = await bringUp(server, (candidate) => urlOf(password, candidate, 'postgres'));
  await ensureDatabase(urlOf(password, port, 'postgres'));
  const guard = keepRunning(server, port);
  return {
    url: urlOf(password, port, DATABASE),
    async stop() {
      guard.end();
      if (answersForServer(folder)) await stopServer(data);
    },
  };
}

/** One that an earlier version has left behind runs with that version's settings. */
async function endOlderServer({ folder, data }: Server): Promise<void> {
  if (runningServer(data) && !hasSettings(data, LOG_SETTINGS) && answersForServer(folder)) await stopServer(data);
}

/**
 * Waits until a server answers, and returns its port. A running server may be about to end, and a server that this process starts
 * ends at once if another process was faster: then it starts again from the present state.
 */
async function bringUp(server: Server, adminUrl: (port: number) => string): Promise<number> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  const log = openLog(server.folder);
  closeSync(log.fd);
  for (let launches = 0; ;) {
    const running = runningServer(server.data);
    const port = running?.port ?? (await freePort());
    if (!running && launches++ > 0) await sleep(RELAUNCH_DELAY_MS);
    const hasEnded = running ? () => runningServer(server.data)?.pid !== running.pid : launch(server, port);
    const failure = await untilReady(adminUrl(port), deadline, hasEnded);
    if (failure === undefined) {
      if (!running) answerForServer(server.folder);
      return port;
    }
    const isGivenUp = launches >= LAUNCHES_MAX && runningServer(server.data) === undefined;
    if (isGivenUp || performance.now() > deadline)
      throw new Error(`The embedded database does not start (${lastWordIn(log) ?? failure}). See ${log.file}.`);
  }
}

/** Starts the server; the result says whether it has ended. */
function launch({ folder, data, user, binaries, settings }: Server, port: number): () => boolean {
  const log = openLog(folder).fd;
  replacePidInFile(data);
  const flags = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    'wal_compression=on',
    'timezone=UTC',
    ...LOG_SETTINGS,
    ...settings,
  ].flatMap((setting) => ['-c', setting]);
  const server = spawn(binaries.postgres, ['-D', data, '-p', String(port), ...flags], {
    ...spawnIdentity(user),
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
  });
  let hasEnded = false;
  for (const end of ['error', 'exit']) server.on(end, () => (hasEnded = true));
  server.unref();
  closeSync(log);
  return () => hasEnded;
}

/** Returns why not, when the server ends or the time is over. */
async function untilReady(url: string, deadline: number, hasEnded: () => boolean): Promise<string | undefined> {
  for (;;) {
    const failure = await tryConnect(url);
    if (failure === undefined || hasEnded() || performance.now() > deadline) return failure;
    await sleep(POLL_MS);
  }
}

async function tryConnect(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Several processes may try at the same moment; one succeeds. */
async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(`SELECT pg_advisory_lock(0)`);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** Restarts a server that was killed or ran out of memory, on the same port; it recovers from its own log. */
function keepRunning(server: Server, port: number): { end(): void } {
  const timer = setInterval(() => {
    try {
      if (!answersForServer(server.folder)) return;
      rotateLog(server.folder);
      if (runningServer(server.data) === undefined) launch(server, port);
    } catch {
      // For example, the disk cannot be written to. `/readyz` says that there is no database; the next round tries again.
    }
  }, GUARD_INTERVAL_MS);
  timer.unref();
  return { end: () => clearInterval(timer) };
}

function urlOf(password: string, port: number, database: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}
