/**
 * The connections that outlive a request: websockets and event streams. Each belongs to a token; when the token ends
 * (revoked, expired, its user or customer disabled), or the program does, the connection is closed.
 */
import { stillValidTokenIds } from '../domain/accounts/authenticate-token.ts';
import type { Viewer } from '../domain/context.ts';
import type { Database } from '../db/database.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { CONNECTIONS_SWEPT_EVERY_MS } from './limits.ts';

export type EndReason = 'token-ended' | 'shutdown';

export interface LiveConnection {
  readonly viewer: Viewer;
  end(reason: EndReason): void;
}

export class LiveConnections {
  readonly #open = new Set<LiveConnection>();
  readonly #database: Database;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  #sweeping = false;

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
    this.#timer = setInterval(() => void this.#sweep(), CONNECTIONS_SWEPT_EVERY_MS);
    this.#timer.unref();
  }

  /** Keeps watch over a connection until the answer is called. */
  add(connection: LiveConnection): () => void {
    this.#open.add(connection);
    return () => void this.#open.delete(connection);
  }

  countOf(userId: bigint): number {
    let count = 0;
    for (const { viewer } of this.#open) if (viewer.userId === userId) count++;
    return count;
  }

  /** Ends all of them and the watch. */
  close(): void {
    clearInterval(this.#timer);
    this.#endAll(() => true, 'shutdown');
  }

  /** One statement for all connections, however many. While the database is away they stay: nothing is known. */
  async #sweep(): Promise<void> {
    if (this.#sweeping || this.#open.size === 0) return;
    this.#sweeping = true;
    try {
      const tokenIds = [...new Set([...this.#open].map(({ viewer }) => viewer.tokenId))];
      const valid = await stillValidTokenIds(this.#database, tokenIds);
      const asked = new Set(tokenIds);
      this.#endAll(({ viewer }) => asked.has(viewer.tokenId) && !valid.has(viewer.tokenId), 'token-ended');
    } catch (error) {
      this.#log.warn('graphql.connections_not_checked', { message: messageOf(error) });
    } finally {
      this.#sweeping = false;
    }
  }

  #endAll(which: (connection: LiveConnection) => boolean, reason: EndReason): void {
    for (const connection of [...this.#open].filter(which)) {
      this.#open.delete(connection);
      connection.end(reason);
    }
  }
}
