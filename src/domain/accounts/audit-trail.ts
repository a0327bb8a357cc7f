/**
 * The audit trail: who did what, when, from where. One row for every successful change by any entry point, and for failed logins;
 * it contains names of inputs, never their values. Changes of access write their row in their own transaction, others in batches
 * afterwards (decision records 0051, 0361).
 */
import { sql, type Database, type Queryable } from '../../db/database.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import type { Log } from '../../lib/log.ts';
import type { ChangedThing, TransactionContext } from '../context.ts';
import { AUDIT_FIELDS_MAX, FAILURES_PER_HOUR_MAX } from './account-limits.ts';
import type { AuditEntry } from './audit-entry.ts';
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

/**
 * Writes rows at once, for actions with their own transaction. Failures are limited per user and hour, because strangers cause
 * them.
 */
export async function insertAuditEntries(
  db: Queryable,
  entries: readonly (AuditEntry & { readonly since?: number })[],
): Promise<void> {
  const now = performance.now();
  const rows = entries.map(({ customerId, actor, operation, targetUid, fields, ...entry }) => ({
    customer_id: String(customerId),
    actor_customer_id: actor ? String(actor.customerId) : null,
    user_uid: actor?.userUid ?? null,
    user_id: actor?.userId === undefined ? null : String(actor.userId),
    token_uid: actor?.tokenUid ?? null,
    token_kind: actor?.tokenKind ?? null,
    operation,
    target_uid: targetUid,
    fields: fields.slice(0, AUDIT_FIELDS_MAX),
    entry_point: entry.entryPoint,
    ip_address: entry.ipAddress,
    client: entry.client ?? null,
    failure: entry.failure ?? null,
    // By the database's clock, although it was away when this happened.
    age_ms: entry.since === undefined ? 0 : now - entry.since,
  }));
  await db.execute(
    sql`
      INSERT INTO hot.audit_event (customer_id, actor_customer_id, user_uid, token_uid, token_kind, operation, target_uid,
                                   fields, entry_point, ip_address, client, failure, at)
      SELECT e.customer_id, e.actor_customer_id, who.uid, e.token_uid, e.token_kind, e.operation, e.target_uid, e.fields,
             e.entry_point, e.ip_address, e.client, e.failure, now() - make_interval(secs => e.age_ms / 1000)
        FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS e(customer_id bigint, actor_customer_id bigint,
             user_uid text, user_id bigint, token_uid text, token_kind text, operation text, target_uid text, fields text[],
             entry_point text, ip_address text, client text, failure text, age_ms float8)
       CROSS JOIN LATERAL (SELECT coalesce(e.user_uid, (
               SELECT u.uid FROM app_user u WHERE u.customer_id = e.actor_customer_id AND u.id = e.user_id)) AS uid) who
       WHERE e.failure IS NULL OR ${FAILURES_PER_HOUR_MAX}::int > (
               SELECT count(*) FROM hot.audit_event f
                WHERE f.customer_id = e.customer_id AND f.user_uid = who.uid AND f.failure IS NOT NULL
                  AND f.at > now() - interval '1 hour')`,
    'accounts.audit',
  );
}
