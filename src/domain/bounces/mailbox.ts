/** A mailbox on a server, read by IMAP or POP3 through one small interface, and the limits of its answers. */
import type { LookupFunction } from 'node:net';

/** Neglected mailboxes are large; the rest is read after these. */
export const LISTED_MAX = 50_000;

export const MAILBOX_TIMEOUTS = {
  connectMs: 15_000,
  /** Between two pieces of an answer. */
  idleMs: 60_000,
  /** Of a whole session: a server that sends without end must not occupy a worker. */
  sessionMs: 600_000,
} as const;

export interface MailboxSession {
  /** Resolves the mailbox's host; absent: as the system does. */
  readonly lookup?: LookupFunction | undefined;
  /** When the connection is cut in any case; absent: after `sessionMs`. */
  readonly msMax?: number | undefined;
}

export interface Mailbox {
  /** Names of its messages that are stable between sessions, the oldest first; at most `LISTED_MAX`. */
  list(): Promise<readonly string[]>;
  /** The first bytes of a message; undefined when it is gone. */
  read(name: string): Promise<Buffer | undefined>;
  /** Deletes messages; they are deleted for certain when `close` has resolved. */
  remove(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
