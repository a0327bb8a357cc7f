/** Reading the audit trail by key, the newest first. */
import { empty, sql, row, type Queryable, type RowOf, type Sql } from '../../db/database.ts';

const AUDIT_EVENT_ROW = row({
  id: 'bigint',
  at: 'timestamptz',
  /** The customer whose data was changed; null when it is deleted, or for the installation. */
  customerUid: 'text?',
  operation: 'text',
  targetUid: 'text?',
  fields: 'text[]',
  entryPoint: 'text',
  ipAddress: 'text?',
  client: 'text?',
  /** The code of the error; null: success. */
  failure: 'text?',
  userUid: 'text?',
  userEmail: 'text?',
  tokenUid: 'text?',
  tokenKind: 'text?',
  /** `vendor/name` of the plugin that did it. */
  plugin: 'text?',
  /** Done by another account than the customer's. */
  isByOperator: 'bool',
});
export type AuditEvent = RowOf<typeof AUDIT_EVENT_ROW>;

export interface AuditWindow {
  /** Null: of all customers. */
  readonly customerId: bigint | null;
  /** Only older ones than this id. */
  readonly beforeId: bigint | null;
  readonly limit: number;
}

/** A page of the trail. Other customers see only that the operator did something, not which of its users. */
export async function auditPage(db: Queryable, { customerId, beforeId, limit }: AuditWindow): Promise<AuditEvent[]> {
  const own = customerId === null ? sql`true` : sql`e.actor_customer_id IS NOT DISTINCT FROM e.customer_id`;
  return db.query(
    AUDIT_EVENT_ROW,
    sql`
    SELECT e.id, e.at, (SELECT c.uid FROM customer c WHERE c.id = e.customer_id) AS "customerUid", e.operation, e.target_uid AS "targetUid", e.fields, e.entry_point AS "entryPoint",
           e.actor_customer_id IS DISTINCT FROM e.customer_id AS "isByOperator",
           CASE WHEN ${own} THEN e.ip_address END AS "ipAddress", CASE WHEN ${own} THEN e.client END AS client, e.failure, CASE WHEN ${own} THEN e.user_uid END AS "userUid",
           CASE WHEN ${own} THEN u.email END AS "userEmail", CASE WHEN ${own} THEN e.token_uid END AS "tokenUid",
           e.token_kind AS "tokenKind", e.plugin
      FROM (SELECT * FROM hot.audit_event e
             WHERE ${ofCustomer(customerId)}
                   ${beforeId === null ? empty : sql`AND e.id < ${beforeId}`}
             ORDER BY e.id DESC LIMIT ${limit}) e
      LEFT JOIN app_user u ON u.customer_id = e.actor_customer_id AND u.uid = e.user_uid
     ORDER BY e.id DESC`,
  );
}

/** How many rows the trail has, counted up to `max`. */
export async function countAuditEvents(
  db: Queryable,
  { customerId, max }: { readonly customerId: bigint | null; readonly max: number },
): Promise<number> {
  const [row] = await db.query(
    { rows: 'int' },
    sql`SELECT count(*)::int AS rows
          FROM (SELECT 1 FROM hot.audit_event e WHERE ${ofCustomer(customerId)} LIMIT ${max}) counted`,
  );
  return row?.rows ?? 0;
}

function ofCustomer(customerId: bigint | null): Sql {
  return customerId === null ? sql`true` : sql`e.customer_id = ${customerId}`;
}
