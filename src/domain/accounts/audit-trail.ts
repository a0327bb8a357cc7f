/**
 * The audit trail: who did what, when, from where. One row for every successful change by any entry point, and for failed logins;
 * it contains names of inputs, never their values. Changes of access write their row in their own transaction, others in batches
 * afterwards (decision records 0051, 0361).
 */
import type { Database } from '../../db/database.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import type { Log } from '../../lib/log.ts';
import type { ChangedThing, TransactionContext } from '../context.ts';
import type { AuditEntry } from './audit-entry.ts';
import { insertAuditEntries } from './audit-store.ts';
import { LateRows, type LateEntry } from './late-audit-rows.ts';

export interface AuditTrail {
  /** Resolves when the row is written, or when the first try failed: it is tried again, and the change stays. */
  record(entry: AuditEntry): Promise<void>;
  /** The same without waiting. */
  note(entry: AuditEntry): void;
  /** Writes what waits; rows that cannot be written go to the log. */
  close(): Promise<void>;
}

/** Rows per statement; more concurrent callers are rare. */
const BATCH_MAX = 500;
/** A single change hardly waits; under load a batch gathers while the one before is written. */
const WAIT_MS = 1;
/** Every waiting row is a waiting request: far more than can be open. */
const WAITING_MAX = 50_000;

/** An audit trail that collects the rows of this process. */
export function createAuditTrail(database: Database, log: Log): AuditTrail {
  const late = new LateRows((entries) => insertAuditEntries(database, entries), log);
  const commits = createGroupCommit<LateEntry>({
    batchMax: BATCH_MAX,
    waitMs: WAIT_MS,
    waitingMax: WAITING_MAX,
    write: (batch) => insertAuditEntries(database, batch),
  });
  const add = (entry: AuditEntry) => {
    const timed = { ...entry, since: performance.now() };
    return commits.add(timed).catch((error: unknown) => late.add(timed, error));
  };
  return {
    record: add,
    note: (entry) => void add(entry),
    async close() {
      await commits.close();
      await late.close();
    },
  };
}

/** Writes the row of the current change in its transaction: both are committed, or neither. */
export async function auditInTransaction({ change, tx }: TransactionContext, about: ChangedThing): Promise<void> {
  await change?.write?.(tx, about);
}
