/** A mailbox on some server, read by IMAP or POP3 behind one small interface, and the bounds of what it is believed. */
import type { LookupFunction } from 'node:net';

/** Mailboxes that nobody reads fill up; the rest is seen when these are gone. */
export const LISTED_MAX = 50_000;

export const MAILBOX_TIMEOUTS = {
  connectMs: 15_000,
  /** Between two pieces of an answer. */
  idleMs: 60_000,
  /** Of a whole session: a server that always has one more piece to say keeps nobody at work for ever. */
  sessionMs: 600_000,
} as const;

export interface MailboxSession {
  /** Resolves the mailbox's host; absent: as the system does. */
  readonly lookup?: LookupFunction | undefined;
  /** When the connection is cut, whatever it is doing; absent: after `sessionMs`. */
  readonly msMax?: number | undefined;
}

export interface Mailbox {
  /** Names of its messages that stay the same from one session to the next, the oldest first; at most `LISTED_MAX`. */
  list(): Promise<readonly string[]>;
  /** The first bytes of a message; undefined when it is gone. */
  read(name: string): Promise<Buffer | undefined>;
  /** Deletes messages; they are gone for certain once `close` has resolved. */
  remove(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
