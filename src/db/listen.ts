/**
 * LISTEN/NOTIFY between processes, on one connection that reconnects. Notifications sent while it connects are lost, also the
 * first time, so listeners are told about the gap and read again.
 */
import pg from 'pg';
import type { Log } from '../lib/log.ts';
import type { Database, Queryable } from './database.ts';
import sql from 'sql-template-tag';

/** Receives the payload of a notification, or null after a gap: then read again. */
export type Listener = (payload: string | null) => void;

export interface Notifications {
  /** Calls `listener` for every notification on the channel; the answer ends it. */
  listen(channel: string, listener: Listener): () => void;
  /** Whether the server sends this channel's notifications now. False from a lost connection until the next call with null. */
  isListening(channel: string): boolean;
  close(): Promise<void>;
}

const RECONNECT_DELAY_MS = 500;

/** Sends one notification; inside a transaction it goes out with the commit. Payloads stay under 8,000 bytes. */
export async function notify(db: Queryable, channel: string, payload: string): Promise<void> {
  await db.execute(sql`SELECT pg_notify(${channel}, ${payload})`, 'notify');
}

/** Starts listening on the database at `url`; connects on its own and keeps trying. */
export function openNotifications(database: Pick<Database, 'connect'>, log: Log): Notifications {
  return new PgNotifications(database, log);
}

class PgNotifications implements Notifications {
  readonly #database: Pick<Database, 'connect'>;
  readonly #log: Log;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The channels that the server has confirmed on the present connection. */
  readonly #confirmed = new Set<string>();
  #client: pg.Client | undefined;
  #closed = false;
  #isConnecting = false;
  #retry: NodeJS.Timeout | undefined;
  #lastStatement: Promise<unknown> = Promise.resolve();

  constructor(database: Pick<Database, 'connect'>, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  listen(channel: string, listener: Listener): () => void {
    const set = this.#listeners.get(channel) ?? new Set<Listener>();
    this.#listeners.set(channel, set);
    set.add(listener);
    if (set.size === 1) this.#say('LISTEN', channel);
    return () => {
      if (!set.delete(listener) || set.size > 0) return;
      this.#listeners.delete(channel);
      this.#say('UNLISTEN', channel);
    };
  }

  isListening(channel: string): boolean {
    return this.#confirmed.has(channel);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#confirmed.clear();
    await this.#client?.end().catch(() => undefined);
  }

  #say(verb: 'LISTEN' | 'UNLISTEN', channel: string): void {
    if (!this.#client) {
      if (verb === 'LISTEN') void this.#connect();
      return;
    }
    if (verb === 'LISTEN') void this.#confirm(this.#client, channel).catch(() => undefined);
    else {
      this.#confirmed.delete(channel);
      void this.#run(this.#client, `UNLISTEN ${pg.escapeIdentifier(channel)}`).catch(() => undefined);
    }
  }

  async #confirm(client: pg.Client, channel: string): Promise<void> {
    await this.#run(client, `LISTEN ${pg.escapeIdentifier(channel)}`);
    if (this.#client !== client || !this.#listeners.has(channel)) return;
    this.#deliver(channel, null);
    this.#confirmed.add(channel);
  }

  /** A connection takes one statement at a time. */
  #run(client: pg.Client, statement: string): Promise<unknown> {
    const running = this.#lastStatement.then(() => client.query(statement));
    this.#lastStatement = running.catch(() => undefined);
    return running;
  }

  async #connect(): Promise<void> {
    if (this.#closed || this.#client || this.#isConnecting) return;
    this.#isConnecting = true;
    try {
      const client = await this.#database.connect('mailwright-listen');
      this.#client = client;
      this.#lastStatement = Promise.resolve();
      client.on('error', () => this.#lost(client));
      client.on('end', () => this.#lost(client));
      client.on('notification', ({ channel, payload }) => this.#deliver(channel, payload ?? ''));
      for (const channel of this.#listeners.keys()) await this.#run(client, `LISTEN ${pg.escapeIdentifier(channel)}`);
      if (this.#client !== client) return;
      // Told of the gap first: nobody may rely on the channel with what was read before it.
      for (const channel of this.#listeners.keys()) {
        this.#deliver(channel, null);
        this.#confirmed.add(channel);
      }
      // Asked to close meanwhile.
      if (this.#closed) await client.end();
    } catch {
      this.#lost(this.#client);
    } finally {
      this.#isConnecting = false;
    }
  }

  #deliver(channel: string, payload: string | null): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(payload);
  }

  #lost(client: pg.Client | undefined): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    this.#confirmed.clear();
    this.#log.warn('database.listen_lost');
    void client?.end().catch(() => undefined);
    this.#retry = setTimeout(() => void this.#connect(), RECONNECT_DELAY_MS);
  }
}
