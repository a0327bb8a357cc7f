/**
 * Closes connections that get no answer although the server owes one. A server or pooler that hangs still confirms packets, so
 * neither the system nor the client library would ever notice (docs/decisions/0352). A long statement is no sign: the server is
 * asked on a new connection whether it works on it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../lib/log.ts';
import { messageOf } from '../lib/errors.ts';
import { DatabaseClient } from './client.ts';

const TICK_MS = 1_000;
/** Most statements take milliseconds. After this silence the server is asked whether it works on the statement. */
const SILENCE_MS = 3_000;
/** The query reads a view of the server's memory. */
const PROBE_MS_MAX = 3_000;
/** One answer may be under way during a check; at two checks in a row it is lost. */
const CHECKS = 2;
/** A server that answers nobody for so long counts as away, whatever it works on; shorter stalls are waited for. */
const AWAY_MS = 9_000;
/** On a connection that only listens something is asked after this silence, or nobody would notice that it is dead. */
const HEARTBEAT_MS = 3_000;

interface Watched {
  readonly client: DatabaseClient;
  readonly hasHeartbeat: boolean;
  bytes: number;
  /** When a byte last moved, or nothing was waited for. */
  movedAt: number;
  /** Checks at which the server did not work on its statement. */
  idleChecks: number;
}

export class ConnectionWatch {
  readonly #config: pg.ClientConfig;
  readonly #log: Log;
  readonly #watched = new Set<Watched>();
  /** Server processes that we gave up, with the time, since process ids are used again. They may still hold locks. */
  readonly #abandoned = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;
  #silentSince: number | undefined;
  #isLooking = false;

  constructor(config: pg.ClientConfig, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** Watches a connection until it ends. `hasHeartbeat`: it only listens, so it is asked something regularly. */
  add(client: DatabaseClient, hasHeartbeat: boolean): void {
    const watched = { client, hasHeartbeat, bytes: 0, movedAt: performance.now(), idleChecks: 0 };
    this.#watched.add(watched);
    client.once('end', () => this.#watched.delete(watched));
    this.#timer ??= setInterval(() => void this.#tick(), TICK_MS).unref();
  }

  /** For how many milliseconds the server has answered nobody; undefined: it answers. */
  silentMs(): number | undefined {
    return this.#silentSince === undefined ? undefined : performance.now() - this.#silentSince;
  }

  /** Destroys all connections that wait, and watches no more. */
  close(): void {
    clearInterval(this.#timer);
    for (const { client } of this.#watched) client.destroy('the program stops');
  }

  async #tick(): Promise<void> {
    const suspects = [...this.#watched].filter((watched) => this.#isSilent(watched));
    if (this.#isLooking || (suspects.length === 0 && this.#silentSince === undefined && this.#abandoned.size === 0))
      return;
    this.#isLooking = true;
    await this.#check(suspects).catch((error: unknown) => this.#noAnswer(suspects, error));
    this.#isLooking = false;
  }

  /** Whether an answer is overdue. */
  #isSilent(watched: Watched): boolean {
    const { client, hasHeartbeat, bytes } = watched;
    const now = performance.now();
    if (client.bytesMoved !== bytes) Object.assign(watched, { bytes: client.bytesMoved, movedAt: now, idleChecks: 0 });
    if (client.isWaiting && !client.isFeeding) return now - watched.movedAt > SILENCE_MS;
    if (hasHeartbeat && now - watched.movedAt > HEARTBEAT_MS) client.query('SELECT 1').catch(() => undefined);
    else if (!hasHeartbeat) watched.movedAt = now;
    return false;
  }

  /** Asks the server about these connections, and closes those on which it does not work. */
  async #check(suspects: readonly Watched[]): Promise<void> {
    const busy = await this.#busyPids(suspects);
    this.#silentSince = undefined;
    const dead = suspects.filter(({ client }) => !busy.has(client.serverPid ?? 0));
    for (const watched of dead) watched.idleChecks += 1;
    const given = dead.filter(({ idleChecks }) => idleChecks >= CHECKS);
    if (given.length > 0) this.#giveUp(given, 'the server does not work on the statement');
  }

  #noAnswer(suspects: readonly Watched[], error: unknown): void {
    this.#silentSince ??= performance.now();
    const late = suspects.filter(({ movedAt }) => performance.now() - movedAt > AWAY_MS);
    if (late.length > 0) this.#giveUp(late, `the server answers no connection (${messageOf(error)})`);
  }

  #giveUp(candidates: readonly Watched[], reason: string): void {
    // An answer may have come since the check began.
    const watched = candidates.filter(({ client, bytes }) => client.isWaiting && client.bytesMoved === bytes);
    if (watched.length === 0) return;
    this.#log.warn('database.no_answer', { connections: watched.length, reason });
    for (const { client } of watched) {
      if (client.serverPid !== undefined) this.#abandoned.set(client.serverPid, performance.now());
      client.destroy(reason);
    }
  }

  /** The suspects whose statements the server works on. Also ends the sessions that were given up before. */
  async #busyPids(suspects: readonly Watched[]): Promise<ReadonlySet<number>> {
    const client = new DatabaseClient({ ...this.#config, connectionTimeoutMillis: PROBE_MS_MAX });
    client.on('error', () => undefined);
    const late = new AbortController();
    void sleep(PROBE_MS_MAX, undefined, { signal: late.signal, ref: false }).then(
      () => client.destroy('no answer in time'),
      () => undefined,
    );
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND state <> 'idle' AND state NOT LIKE 'idle in%'
            AND wait_event_type IS DISTINCT FROM 'Client'`,
        [suspects.map(({ client: { serverPid } }) => serverPid ?? 0)],
      );
      await this.#endAbandoned(client);
      return new Set(rows.map(({ pid }) => pid));
    } finally {
      late.abort();
      void client.end().catch(() => undefined);
    }
  }

  /** Sessions of ours that wait for us on the server would keep their locks for hours. */
  async #endAbandoned(client: DatabaseClient): Promise<void> {
    if (this.#abandoned.size === 0) return;
    const abandoned = [...this.#abandoned];
    await client.query(
      `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN unnest($1::int[], $2::float8[]) AS g (pid, seconds) USING (pid)
        WHERE a.usename = current_user AND a.datname = current_database() AND a.backend_start < now() - make_interval(secs => g.seconds)`,
      [abandoned.map(([pid]) => pid), abandoned.map(([, at]) => (performance.now() - at) / 1_000)],
    );
    for (const [pid] of abandoned) this.#abandoned.delete(pid);
  }
}
