/**
 * The embedded database: a real PostgreSQL from npm under the data directory, started and stopped with the program.
 * It runs in a session of its own, so that Ctrl-C on the terminal reaches the program first and the database last.
 * A server that a killed program left behind is taken over.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import pg from 'pg';
import { messageOf } from '../lib/errors.ts';
import { isAlive } from '../lib/is-alive.ts';
import { databaseUserFor, spawnIdentity, type DatabaseUser } from './embedded-user.ts';
import { loadBinaries, type Binaries } from './embedded-binaries.ts';
import { freePort } from './free-port.ts';
import { makeFolder } from '../lib/make-folder.ts';

export interface EmbeddedDatabase {
  readonly url: string;
  /** Stops the server in its "fast" mode: open transactions are undone, everything committed is on disk. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Folder of its own; made when absent. */
  readonly folder: string;
  /** Further server settings, `name=value`. */
  readonly settings?: readonly string[];
}

const SUPERUSER = 'mailwright';
const DATABASE = 'mailwright';
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 8_000;
const POLL_MS = 25;
/** How long a database that died stays down; also longer than a start takes to write its pid file. */
const GUARD_INTERVAL_MS = 2_000;

/** Starts (first: makes) the database in `folder` and answers where it listens: loopback, a free port. */
export async function startEmbeddedDatabase({ folder, settings = [] }: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const user = databaseUserFor(folder);
  const binaries = await loadBinaries(user, folder);
  const data = path.join(folder, 'data');
  if (!existsSync(path.join(data, 'PG_VERSION'))) initialise({ folder, data, user, binaries });
  const password = readFileSync(passwordFile(folder), 'utf8').trim();
  const running = runningServer(data);
  const port = running?.port ?? (await freePort());
  const hasDied = running
    ? () => runningServer(data) === undefined
    : launch({ folder, data, port, user, binaries, settings });
  const adminUrl = urlOf(password, port, 'postgres');
  await untilReady(adminUrl, folder, hasDied);
  await ensureDatabase(adminUrl);
  const url = urlOf(password, port, DATABASE);
  if (!becomeOwner(folder, running !== undefined)) return { url, stop: () => Promise.resolve() };
  const guard = keepRunning(data, () => launch({ folder, data, port, user, binaries, settings }));
  return {
    url,
    async stop() {
      guard.end();
      await stop(data);
    },
  };
}

interface Place {
  readonly folder: string;
  readonly data: string;
  readonly user: DatabaseUser | undefined;
  readonly binaries: Binaries;
}

/** Makes the cluster beside its place and moves it there when it is whole: initdb that is killed leaves a half one. */
function initialise({ folder, data, user, binaries }: Place): void {
  const made = `${data}.new`;
  makeFolder(folder);
  // What a set-up that was cut short left is not worth keeping.
  for (const left of [data, made]) rmSync(left, { recursive: true, force: true });
  if (user) {
    chmodSync(folder, 0o755);
    mkdirSync(made, { mode: 0o700 });
    chownSync(made, user.uid, user.gid);
  }
  const password = crypto.randomUUID().replaceAll('-', '');
  const file = passwordFile(folder);
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
  if (user) chownSync(file, user.uid, user.gid);
  const result = spawnSync(
    binaries.initdb,
    [
      '-D',
      made,
      '-U',
      SUPERUSER,
      '-A',
      'scram-sha-256',
      `--pwfile=${file}`,
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--no-instructions',
    ],
    { ...spawnIdentity(user), encoding: 'utf8', cwd: '/' },
  );
  if (result.status !== 0) {
    rmSync(made, { recursive: true, force: true });
    throw new Error(
      `The embedded database could not be made in ${data}: ${result.error?.message ?? result.stderr.trim()}`,
    );
  }
  renameSync(made, data);
}

/** Starts the server; the answer tells whether it has ended. */
function launch(place: Place & { port: number; settings: readonly string[] }): () => boolean {
  const { folder, data, port, user, binaries, settings } = place;
  const log = openSync(path.join(folder, 'postgres.log'), 'a');
  const flags = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    'wal_compression=on',
    'timezone=UTC',
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

async function untilReady(url: string, folder: string, hasDied: () => boolean): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const failure = await tryConnect(url);
    if (failure === undefined) return;
    if (hasDied() || performance.now() > deadline) {
      throw new Error(`The embedded database does not start (${failure}). See ${path.join(folder, 'postgres.log')}.`);
    }
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

async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** A server that was killed, or ran out of memory, is started again on the same port; it recovers from its own log. */
function keepRunning(data: string, relaunch: () => void): { end(): void } {
  const timer = setInterval(() => {
    if (runningServer(data) === undefined) relaunch();
  }, GUARD_INTERVAL_MS);
  timer.unref();
  return { end: () => clearInterval(timer) };
}

/** Several processes may share the server of one folder; the one that started it, or found it orphaned, stops it. */
function becomeOwner(folder: string, isRunning: boolean): boolean {
  const file = path.join(folder, 'owner.pid');
  const owner = isRunning && existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  if (owner > 0 && owner !== process.pid && isAlive(owner)) return false;
  writeFileSync(file, String(process.pid));
  return true;
}

/** The postmaster that owns `data` now, by its pid file: line 1 the process, line 4 the port. */
function runningServer(data: string): { pid: number; port: number } | undefined {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  return pid > 0 && port > 0 && isAlive(pid) && isPostgres(pid) ? { pid, port } : undefined;
}

/** After a reboot the number may belong to another program. Where there is no /proc the number is believed. */
function isPostgres(pid: number): boolean {
  const name = `/proc/${pid}/comm`;
  return !existsSync(name) || readFileSync(name, 'utf8').startsWith('postgres');
}

async function stop(data: string): Promise<void> {
  const server = runningServer(data);
  if (!server) return;
  process.kill(server.pid, 'SIGINT');
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (isAlive(server.pid) && performance.now() < deadline) await sleep(POLL_MS);
  // Its own immediate mode: it recovers from the write-ahead log at the next start, nothing committed is lost.
  if (isAlive(server.pid)) process.kill(server.pid, 'SIGQUIT');
}

function passwordFile(folder: string): string {
  return path.join(folder, 'password');
}

function urlOf(password: string, port: number, database: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}
