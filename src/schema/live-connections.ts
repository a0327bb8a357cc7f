/**
 * Connections that outlive a request: websockets and event streams. Each belongs to a token and is closed when the token ends
 * (revoked, expired, its user or customer disabled), when its user's rights change, when maintenance begins or ends, and at the
 * end of the program.
 */
import { rightsOfTokens } from '../domain/accounts/api-token-store.ts';
import type { Context, Viewer } from '../domain/context.ts';
import { messageOf } from '../lib/errors.ts';
import { CONNECTIONS_CHECKED_EVERY_MS, CONNECTIONS_PER_USER_MAX } from './limits.ts';

export type EndReason = 'replaced' | 'token-ended' | 'maintenance' | 'shutdown';

export interface LiveConnection {
  readonly viewer: Viewer;
  /** Whether nothing runs on it; absent: something always does. */
  isIdle?(): boolean;
  end(reason: EndReason): void;
}

/** The rights of a connection were checked only when it was opened, also by this. */
interface Kept extends LiveConnection {
  readonly isInMaintenance: boolean;
}

export class LiveConnections {
  readonly #open = new Set<Kept>();
  readonly #means: Pick<Context, 'database' | 'installation' | 'log'>;
  readonly #timer: NodeJS.Timeout;
  #isChecking = false;

  constructor(means: Pick<Context, 'database' | 'installation' | 'log'>) {
    this.#means = means;
    this.#timer = setInterval(() => void this.#check(), CONNECTIONS_CHECKED_EVERY_MS);
    this.#timer.unref();
  }

  /** Watches a connection until the returned function is called. */
  add(connection: LiveConnection): () => void {
    const { viewer } = connection;
    const kept: Kept = {
      viewer,
      isIdle: () => connection.isIdle?.() === true,
      end: (reason) => connection.end(reason),
      isInMaintenance: this.#isInMaintenance(),
    };
    this.#open.add(kept);
    return () => void this.#open.delete(kept);
  }

  /**
   * Whether the user may open one more, a websocket or an event stream: at the limit, one on which nothing runs gives its place.
   * Nothing is ended yet.
   */
  hasPlaceFor(userId: bigint): boolean {
    const own = this.#ofUser(userId);
    return own.length < CONNECTIONS_PER_USER_MAX || own.some(({ isIdle }) => isIdle?.());
  }

  /** Makes the place for one that is certain to open: at the limit the oldest idle one is ended. False: none is idle. */
  makePlaceFor(userId: bigint): boolean {
    const own = this.#ofUser(userId);
    if (own.length < CONNECTIONS_PER_USER_MAX) return true;
    const oldestIdle = own.find(({ isIdle }) => isIdle?.());
    if (!oldestIdle) return false;
    this.#open.delete(oldestIdle);
    oldestIdle.end('replaced');
    return true;
  }

  /** The oldest first. */
  #ofUser(userId: bigint): Kept[] {
    return [...this.#open].filter(({ viewer }) => viewer.userId === userId);
  }

  /** Ends all connections and the watch. */
  close(): void {
    clearInterval(this.#timer);
    this.#endAll(() => true, 'shutdown');
  }

  /** One statement for all connections. While the database is away they stay open: nothing is known. */
  async #check(): Promise<void> {
    if (this.#isChecking || this.#open.size === 0) return;
    this.#isChecking = true;
    const { database, installation, log } = this.#means;
    try {
      const checked = new Set(this.#open);
      const viewers = new Map([...checked].map(({ viewer }) => [viewer.tokenId, viewer]));
      const rights = await rightsOfTokens(database, [...viewers.values()], installation.limits.sessionDays);
      const hasEnded = ({ viewer }: LiveConnection) => rights.get(viewer.tokenId) !== viewer.isAdmin;
      this.#endAll((connection) => checked.has(connection) && hasEnded(connection), 'token-ended');
      const now = this.#isInMaintenance();
      // Administrators may connect with or without maintenance.
      this.#endAll(({ viewer, isInMaintenance }) => !viewer.isAdmin && isInMaintenance !== now, 'maintenance');
    } catch (error) {
      log.warn('graphql.connections_not_checked', { message: messageOf(error) });
    } finally {
      this.#isChecking = false;
    }
  }

  #isInMaintenance(): boolean {
    return this.#means.installation.isInMaintenance === true;
  }

  #endAll(which: (connection: Kept) => boolean, reason: EndReason): void {
    for (const connection of [...this.#open].filter(which)) {
      this.#open.delete(connection);
      connection.end(reason);
    }
  }
}
