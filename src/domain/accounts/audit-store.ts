/** Rows of the audit trail. They are inserted and deleted, never changed. */
import { sql, type Queryable } from '../../db/database.ts';
import { AUDIT_FIELDS_MAX, FAILURES_PER_HOUR_MAX } from './account-limits.ts';
import type { AuditEntry } from './audit-entry.ts';

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
    user_uid: actor?.userUid || null,
    plugin: actor?.plugin ?? null,
    user_id: actor?.userId === undefined ? null : String(actor.userId),
    token_uid: actor?.tokenUid || null,
    token_kind: actor?.tokenKind === 'plugin' ? null : (actor?.tokenKind ?? null),
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
                                   fields, entry_point, ip_address, client, failure, plugin, at)
      SELECT e.customer_id, e.actor_customer_id, who.uid, e.token_uid, e.token_kind, e.operation, e.target_uid, e.fields,
             e.entry_point, e.ip_address, e.client, e.failure, e.plugin, now() - make_interval(secs => e.age_ms / 1000)
        FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS e(customer_id bigint, actor_customer_id bigint,
             user_uid text, user_id bigint, token_uid text, token_kind text, operation text, target_uid text, fields text[],
             entry_point text, ip_address text, client text, failure text, plugin text, age_ms float8)
       CROSS JOIN LATERAL (SELECT coalesce(e.user_uid, (
               SELECT u.uid FROM app_user u WHERE u.customer_id = e.actor_customer_id AND u.id = e.user_id)) AS uid) who
       WHERE e.failure IS NULL OR ${FAILURES_PER_HOUR_MAX}::int > (
               SELECT count(*) FROM hot.audit_event f
                WHERE f.customer_id = e.customer_id AND f.user_uid = who.uid AND f.failure IS NOT NULL
                  AND f.at > now() - interval '1 hour')`,
    'accounts.audit',
  );
}

/** Deletes those of the `max` oldest events that are older than `days`. Answers how many they were. */
export function deleteOldAuditEvents(db: Queryable, { days, max }: { days: number; max: number }): Promise<number> {
  // Ids grow with time: the oldest are at the beginning of the index.
  return db.execute(sql`
    DELETE FROM hot.audit_event WHERE id IN (
      SELECT id FROM (SELECT id, at FROM hot.audit_event ORDER BY id LIMIT ${max}) oldest
       WHERE at < now() - make_interval(days => ${days}))`);
}

/** Deletes what a customer did itself; what administrators did to it stays on record. */
export async function eraseAuditEventsOf(db: Queryable, customerId: bigint): Promise<void> {
  await db.execute(sql`
    DELETE FROM hot.audit_event
     WHERE customer_id = ${customerId} AND coalesce(actor_customer_id, ${customerId}) = ${customerId}`);
}
