/**
 * Remembers whom an API token belongs to and what it may do, for two seconds at most, so that a client that sends many requests
 * costs one look-up and not one for each. It remembers only while this process is told of changes: the database announces each
 * change of a token, user, customer, subscription or plan that decides over access (prisma/functions/tell_changed_access.sql),
 * and everything is forgotten. Sessions are not remembered, nor tokens that were refused.
 */
import type { Notifications } from '../../db/listen.ts';
import { sha256 } from '../../lib/crypto.ts';
import { SharedReads } from '../../lib/shared-reads.ts';
import type { Authentication } from './authentication.ts';

export interface TokenCache {
  /** The remembered answer for this token, or that of `lookUp`, which is remembered. */
  find(token: string, lookUp: () => Promise<Authentication | null>): Promise<Authentication | null>;
  /** Forgets everything: for a change of this process itself, whose announcement arrives a moment later. */
  clear(): void;
  close(): void;
}

/** The channel that `hot.tell_changed_access` announces changes on. */
const ACCESS_CHANNEL = 'changed_access';

/** If an announcement is lost in a way that nobody notices, a change takes effect after this time. */
export const REMEMBERED_MS = 2_000;

/** Of 2 seconds; beyond, all are forgotten. An entry has some 500 bytes. */
const REMEMBERED_MAX = 2_000;

interface Remembered {
  readonly found: Authentication;
  /** By `performance.now()`. */
  readonly until: number;
}

export function openTokenCache(notifications: Notifications): TokenCache {
  const remembered = new Map<string, Remembered>();
  const open = new SharedReads<Authentication | null>();
  let changes = 0;
  const clear = (): void => {
    changes += 1;
    remembered.clear();
  };
  const stopListening = notifications.listen(ACCESS_CHANNEL, clear);
  return {
    async find(token, lookUp) {
      if (!notifications.isListening(ACCESS_CHANNEL)) return lookUp();
      // The token itself is not kept in memory.
      const key = sha256(token).toString('base64');
      const known = remembered.get(key);
      if (known && known.until > performance.now()) return known.found;
      const changesBefore = changes;
      // From the beginning of the look-up: what it reads is as old as that.
      const until = performance.now() + REMEMBERED_MS;
      // Requests that come while the token is looked up share the answer.
      const found = await open.read(remembered, `${changesBefore} ${key}`, lookUp);
      // What was read before a change may not be kept after it.
      if (!found || changes !== changesBefore || !notifications.isListening(ACCESS_CHANNEL)) return found;
      if (remembered.size >= REMEMBERED_MAX) remembered.clear();
      remembered.set(key, { found, until });
      return found;
    },
    clear,
    close: stopListening,
  };
}
