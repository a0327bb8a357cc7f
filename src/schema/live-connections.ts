/**
 * The connections that outlive a request: websockets and event streams. Each belongs to a token and is closed when
 * the token ends (revoked, expired, its user or customer disabled), when its user's rights change, and at the end of
 * the program.
 */
import { rightsOfTokens } from '../domain/accounts/authenticate-token.ts';
import type { Context, Viewer } from '../domain/context.ts';
import { messageOf } from '../lib/errors.ts';
import { CONNECTIONS_SWEPT_EVERY_MS } from './limits.ts';

export type EndReason = 'token-ended' | 'shutdown';

export interface LiveConnection {
  readonly viewer: Viewer;
  end(reason: EndReason): void;
}

export class LiveConnections {
  readonly #open = new Set<LiveConnection>();
  readonly #means: Pick<Context, 'database' | 'installation' | 'log'>;
  readonly #timer: NodeJS.Timeout;
  #sweeping = false;

  constructor(means: Pick<Context, 'database' | 'installation' | 'log'>) {
    this.#means = means;
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
    const { database, installation, log } = this.#means;
    try {
      const asked = new Set(this.#open);
      const viewers = new Map([...asked].map(({ viewer }) => [viewer.tokenId, viewer]));
      const rights = await rightsOfTokens(database, [...viewers.values()], installation.limits.sessionDays);
      const hasEnded = ({ viewer }: LiveConnection) => rights.get(viewer.tokenId) !== viewer.isAdmin;
      this.#endAll((connection) => asked.has(connection) && hasEnded(connection), 'token-ended');
    } catch (error) {
      log.warn('graphql.connections_not_checked', { message: messageOf(error) });
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
