/**
 * Rows of the audit trail that could not be written with their change: kept in memory and tried again. Rows that must be given up
 * (too many wait, the program ends, the row itself is refused) go to the log completely: they contain names and uids only.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { AuditEntry } from './audit-entry.ts';

/** A row, and the time of its change by the monotonic clock of this process. */
export type LateEntry = AuditEntry & { readonly since: number };

/** About 20 MB. When the database is away changes fail as well, so few rows are ever late. */
const LATE_MAX = 50_000;
const BATCH_MAX = 500;
const RETRY_MS = { first: 500, most: 15_000 } as const;
/** The end of the program does not wait longer for a database that is away. */
const CLOSE_MS_MAX = 2_000;
/** How often an outage is logged, with the number of waiting rows. */
const LOGGED_EVERY_MS = 60_000;

export class LateRows {
  readonly #write: (entries: readonly LateEntry[]) => Promise<void>;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #waiting: LateEntry[] = [];
  #retrying: Promise<void> | undefined;
  #loggedAt = -Infinity;

  constructor(write: (entries: readonly LateEntry[]) => Promise<void>, log: Log) {
    this.#write = write;
    this.#log = log;
  }

  /** Takes a row whose first try failed. */
  add(entry: LateEntry, error: unknown): void {
    if (this.#closing.signal.aborted || this.#waiting.length >= LATE_MAX) return this.#giveUp(entry, messageOf(error));
    this.#waiting.push(entry);
    this.#logOutage(error);
    this.#retrying ??= this.#retry().finally(() => (this.#retrying = undefined));
  }

  /** One last try; the rest goes to the log. */
  async close(): Promise<void> {
    this.#closing.abort();
    const over = new AbortController();
    await Promise.race([
      this.#retrying?.then(() => this.#writeAll()).catch(() => undefined),
      sleep(CLOSE_MS_MAX, undefined, { signal: over.signal }).catch(() => undefined),
    ]);
    over.abort();
    for (const entry of this.#waiting) this.#giveUp(entry, 'The program has ended before the database was back.');
    this.#waiting = [];
  }

  async #retry(): Promise<void> {
    for (let pause: number = RETRY_MS.first; this.#waiting.length > 0; pause = Math.min(2 * pause, RETRY_MS.most)) {
      await sleep(pause, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      if (this.#closing.signal.aborted) return;
      await this.#writeAll().catch((error: unknown) => this.#logOutage(error));
    }
  }

  /** Throws when the database cannot write now; then all unwritten rows still wait. */
  async #writeAll(): Promise<void> {
    let written = 0;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH_MAX);
      const isWritten = await this.#isWritten(batch);
      if (!isWritten) await this.#writeSingly(batch);
      else this.#waiting.splice(0, batch.length);
      written += batch.length;
    }
    this.#loggedAt = -Infinity;
    if (written > 0) this.#log.info('audit.written_late', { rows: written });
  }

  /** One row that cannot be written must not block the others. */
  async #writeSingly(batch: readonly LateEntry[]): Promise<void> {
    for (const entry of batch) {
      if (!(await this.#isWritten([entry]))) this.#giveUp(entry, 'The database refuses this row.');
      this.#waiting.shift();
    }
  }

  /** False: a row itself is refused. Throws for every temporary failure. */
  async #isWritten(entries: readonly LateEntry[]): Promise<boolean> {
    try {
      await this.#write(entries);
      return true;
    } catch (error) {
      if (!isDataFault(error)) throw error;
      return false;
    }
  }

  #giveUp({ since, ...entry }: LateEntry, reason: string): void {
    // Without a `message`: equal faults are left out of the log, and each of these is a row.
    this.#log.error('audit.lost', { ...entry, secondsAgo: Math.round((performance.now() - since) / 1_000), reason });
  }

  #logOutage(error: unknown): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOGGED_EVERY_MS) return;
    this.#loggedAt = now;
    this.#log.error('audit.not_written', { waiting: this.#waiting.length, message: messageOf(error) });
  }
}

/** SQLSTATE classes 22 (data exception) and 23 (integrity constraint violation). */
function isDataFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));
}
