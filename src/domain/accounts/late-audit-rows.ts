/**
 * Rows of the audit trail that could not be written when their change was made: kept in memory and tried again until
 * they are written. What must be given up (too many wait, the program ends, the row itself is refused) goes into the log,
 * whole: it holds names and uids only.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { AuditEntry } from './audit-entry.ts';

/** A row, and when its change was made, by the clock of this process that only goes forward. */
export type LateEntry = AuditEntry & { readonly since: number };

/** About 20 MB. A database that is away makes changes fail as well: few rows are ever late. */
const LATE_MAX = 50_000;
const BATCH_MAX = 500;
const RETRY_MS = { first: 500, most: 15_000 } as const;
/** The end of the program does not wait longer for a database that is away. */
const CLOSE_MS_MAX = 2_000;
/** An outage is told this often, with how many rows wait. */
const TOLD_EVERY_MS = 60_000;

export class LateRows {
  readonly #write: (entries: readonly LateEntry[]) => Promise<void>;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #waiting: LateEntry[] = [];
  #retrying: Promise<void> | undefined;
  #toldAt = -Infinity;

  constructor(write: (entries: readonly LateEntry[]) => Promise<void>, log: Log) {
    this.#write = write;
    this.#log = log;
  }

  /** Takes a row over whose first try failed. */
  add(entry: LateEntry, error: unknown): void {
    if (this.#closing.signal.aborted || this.#waiting.length >= LATE_MAX) return this.#giveUp(entry, messageOf(error));
    this.#waiting.push(entry);
    this.#tell(error);
    this.#retrying ??= this.#retry().finally(() => (this.#retrying = undefined));
  }

  /** One last try; what is left then goes into the log. */
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
      await this.#writeAll().catch((error: unknown) => this.#tell(error));
    }
  }

  /** Throws when the database cannot write now; everything not written is still waiting then. */
  async #writeAll(): Promise<void> {
    let written = 0;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH_MAX);
      const isWritten = await this.#isWritten(batch);
      if (!isWritten) await this.#writeSingly(batch);
      else this.#waiting.splice(0, batch.length);
      written += batch.length;
    }
    this.#toldAt = -Infinity;
    if (written > 0) this.#log.info('audit.written_late', { rows: written });
  }

  /** One row that cannot be written must not keep the others. */
  async #writeSingly(batch: readonly LateEntry[]): Promise<void> {
    for (const entry of batch) {
      if (!(await this.#isWritten([entry]))) this.#giveUp(entry, 'The database refuses this row.');
      this.#waiting.shift();
    }
  }

  /** False: something in it is refused for what it is. Throws for every other trouble, which passes. */
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
    // Without a `message`: lines of the same fault are left out, and each of these is a row.
    this.#log.error('audit.lost', { ...entry, secondsAgo: Math.round((performance.now() - since) / 1_000), reason });
  }

  #tell(error: unknown): void {
    const now = performance.now();
    if (now - this.#toldAt < TOLD_EVERY_MS) return;
    this.#toldAt = now;
    this.#log.error('audit.not_written', { waiting: this.#waiting.length, message: messageOf(error) });
  }
}

/** SQLSTATE classes 22 (data exception) and 23 (integrity constraint violation). */
function isDataFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));
}
