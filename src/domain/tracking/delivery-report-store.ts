/** Reads and writes of reports about deliveries: each write is one statement, and repeating it changes nothing. */
import { sql, row, type Queryable, type Sql } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import type { DeliveryKey } from '../source-key.ts';
import { campaignOfSource, inMonthOf, ofDelivery, ofSource } from '../statistics/source-read-model.ts';
import { REPORT_AGE_DAYS_MAX, type Bounce } from './delivery-report.ts';

/** The row of the ledger for a report. */
export interface ReportedDelivery extends DeliveryKey {
  /** Null: the recipient is on no list. */
  readonly listId: bigint | null;
  readonly snapshotOn: string;
  readonly state: string;
  readonly isTooOld: boolean;
  /** The address to which the message went, as it is compared; null when the person is gone. */
  readonly emailKey: string | null;
}

const DELIVERY_KEY_ROW = row({
  recipientId: 'bigint',
  occurrence: 'bigint',
  customerId: 'bigint',
  sourceKind: 'smallint',
  sourceId: 'bigint',
});

/** Messages with this id of their driver: one, unless drivers of two customers use the same id. */
export async function deliveriesByRuntimeMessage(db: Queryable, key: Buffer): Promise<DeliveryKey[]> {
  return db.query(
    DELIVERY_KEY_ROW,
    sql`SELECT customer_id AS "customerId", source_kind AS "sourceKind", source_id AS "sourceId", recipient_id AS "recipientId", occurrence
          FROM hot.runtime_message WHERE message_key = ${key} ORDER BY at DESC LIMIT 10`,
    'tracking.by_runtime_message',
  );
}

const REPORTED_DELIVERY_ROW = row({
  ...DELIVERY_KEY_ROW,
  listId: 'bigint?',
  snapshotOn: 'text',
  state: 'text',
  isTooOld: 'bool',
  email: 'text',
  isThere: 'bool',
});

/** The ledger's row, or undefined when campaign or ledger are gone. */
export async function findReportedDelivery(db: Queryable, key: DeliveryKey): Promise<ReportedDelivery | undefined> {
  const [row] = await db.query(
    REPORTED_DELIVERY_ROW,
    sql`SELECT d.customer_id AS "customerId", d.source_kind AS "sourceKind", d.source_id AS "sourceId", d.recipient_id AS "recipientId", d.occurrence,
               d.list_id AS "listId", d.snapshot_on::text AS "snapshotOn", d.state::text AS state, d.email, coalesce(s.id, r.id) IS NOT NULL AS "isThere",
               d.updated_at < now() - make_interval(days => ${REPORT_AGE_DAYS_MAX}) AS "isTooOld"
          FROM hot.delivery d
          LEFT JOIN subscriber s ON s.customer_id = d.customer_id AND s.list_id = d.list_id AND s.id = d.recipient_id
          LEFT JOIN hot.message_recipient r ON d.list_id IS NULL AND r.customer_id = d.customer_id AND r.id = d.recipient_id
         WHERE ${ofDelivery('d', key)} AND ${inMonthOf('d', key)}
         ORDER BY d.snapshot_on DESC LIMIT 1`,
    campaignOfSource(key) ? 'tracking.reported_delivery_of_campaign' : 'tracking.reported_delivery',
  );
  return row && { ...row, emailKey: row.isThere && row.email !== '' ? emailKey(row.email) : null };
}

/** Closes a message with an unknown outcome: a report about it proves that the server accepted it. */
export async function resolveAsSent(db: Queryable, delivery: ReportedDelivery): Promise<boolean> {
  const rows = await db.execute(
    sql`WITH found AS (
          UPDATE hot.delivery d SET state = 'sent', reason = NULL
           WHERE d.snapshot_on = ${delivery.snapshotOn}::date AND ${ofDelivery('d', delivery)} AND d.state = 'unknown'
          RETURNING 1
        ), counted AS (
          UPDATE hot.delivery_counter c SET unknown = c.unknown - 1, sent = c.sent + 1
           WHERE ${ofSource('c', delivery)} AND EXISTS (SELECT 1 FROM found)
        )
        SELECT 1 FROM found`,
    'tracking.resolve_as_sent',
  );
  return rows > 0;
}

/**
 * Writes a bounce, its event and its counter. A message counts as bounced once; a hard bounce after a soft one is written too,
 * but not counted again. Returns whether anything was new.
 */
export async function writeBounce(db: Queryable, key: DeliveryKey, bounce: Bounce): Promise<boolean> {
  const rows = await db.execute(
    sql`WITH bounced AS (
          INSERT INTO hot.recipient_activity AS a (${KEY}, bounced_at, bounce_type)
          VALUES (${valuesOf(key)}, now(), ${bounce.type})
          ON CONFLICT (${KEY}) DO UPDATE SET
            bounced_at = coalesce(a.bounced_at, excluded.bounced_at), bounce_type = excluded.bounce_type
           WHERE a.bounced_at IS NULL OR (excluded.bounce_type = 'hard' AND a.bounce_type <> 'hard')
          RETURNING ${KEY}, bounced_at = now() AS is_first
        ), event AS (
          INSERT INTO hot.bounce_event (at, ${KEY}, type, status_code, message)
          SELECT now(), ${KEY}, ${bounce.type}, ${bounce.statusCode}, ${bounce.message} FROM bounced
        ), counted AS (
          INSERT INTO hot.tracking_counter AS t (customer_id, source_kind, source_id, bounce_count)
          SELECT customer_id, source_kind, source_id, 1 FROM bounced WHERE is_first
          ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET bounce_count = t.bounce_count + 1
        )
        SELECT 1 FROM bounced`,
    'tracking.bounce',
  );
  return rows > 0;
}

/** Writes a complaint, its event and its counter, once per message. Returns whether it was the first. */
export async function writeComplaint(
  db: Queryable,
  key: DeliveryKey,
  { type, message }: { type: string; message: string | null },
): Promise<boolean> {
  const rows = await db.execute(
    sql`WITH complained AS (
          INSERT INTO hot.recipient_activity AS a (${KEY}, complained_at)
          VALUES (${valuesOf(key)}, now())
          ON CONFLICT (${KEY}) DO UPDATE SET complained_at = excluded.complained_at WHERE a.complained_at IS NULL
          RETURNING ${KEY}
        ), event AS (
          INSERT INTO hot.feedback_event (at, ${KEY}, type, message)
          SELECT now(), ${KEY}, ${type}, ${message} FROM complained
        ), counted AS (
          INSERT INTO hot.tracking_counter AS t (customer_id, source_kind, source_id, abuse_feedback_count)
          SELECT customer_id, source_kind, source_id, 1 FROM complained
          ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET abuse_feedback_count = t.abuse_feedback_count + 1
        )
        SELECT 1 FROM complained`,
    'tracking.complaint',
  );
  return rows > 0;
}

const KEY = sql`customer_id, source_kind, source_id, recipient_id, occurrence`;

function valuesOf({ customerId, sourceKind, sourceId, recipientId, occurrence }: DeliveryKey): Sql {
  return sql`${customerId}::bigint, ${sourceKind}::smallint, ${sourceId}::bigint, ${recipientId}::bigint, ${occurrence}::bigint`;
}
