/** What a person agreed to or withdrew, newest last: answers "why do I get this mail?". */
import { sql, row, typed, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import { assert } from '../../lib/errors.ts';
import type { SubscriberKey } from './subscriber-store.ts';
import type { SubscriberStatus } from './subscriber-fields.ts';
import { CONFIRMATION_DAYS } from './subscriber.ts';

export interface ConsentEvent extends SubscriberKey {
  readonly status: SubscriberStatus;
  readonly source: string;
  readonly ipAddress: string | null;
  readonly at: Date;
  /** Of an import: the file, and the address of the user who imported it. */
  readonly fileName: string | null;
  readonly importedBy: string | null;
}

/** Events shown per person, the newest; normal people have far fewer. */
const EVENTS_MAX = 100;

const CONSENT_ROW = row({
  status: typed<SubscriberStatus>('text'),
  source: 'text',
  ipAddress: 'text?',
  at: 'timestamptz',
  fileName: 'text?',
  importedBy: 'text?',
  id: 'bigint',
  customerId: 'bigint',
  listId: 'bigint',
});

/**
 * An import writes no entry for those it adds as subscribed, which would double its writes: the entry is made from their row s.
 * Others, or those with another status, have an entry of that moment.
 */
const HAS_IMPORT_ENTRY = sql`s.source LIKE 'import:%' AND NOT EXISTS (
  SELECT 1 FROM consent_event f
   WHERE f.customer_id = s.customer_id AND f.list_id = s.list_id AND f.subscriber_id = s.id AND f.at <= s.created_at)`;

/** The import of an entry e. */
const JOIN_IMPORT = sql`
  LEFT JOIN mail_list_import i ON i.customer_id = e.customer_id AND i.uid = substr(e.source, ${'import:'.length + 1}::int) AND e.source LIKE 'import:%'
  LEFT JOIN app_user u ON u.customer_id = i.customer_id AND u.id = i.imported_by`;

/** All entries, for the export of a person: as in the table, with the import; `where` is about t. */
export function consentRowsOf(where: Sql): Sql {
  return sql`
    SELECT e.*, i.file_name, u.email AS imported_by
      FROM (SELECT customer_id, list_id, subscriber_id, id, status, source, ip_address, at FROM consent_event t WHERE ${where}
             UNION ALL
            SELECT t.* FROM (SELECT s.customer_id, s.list_id, s.id AS subscriber_id, NULL::bigint, 'subscribed', s.source, s.ip_address, s.created_at
                               FROM subscriber s WHERE ${HAS_IMPORT_ENTRY}) t WHERE ${where}) e ${JOIN_IMPORT}`;
}

/**
 * The consent histories of several people of one customer, in the order asked for, in one statement.
 */
export async function consentHistories(
  db: Queryable,
  customerId: bigint,
  keys: readonly SubscriberKey[],
): Promise<ConsentEvent[][]> {
  const rows = await db.query(
    CONSENT_ROW,
    sql`
    SELECT e.customer_id AS "customerId", k.list_id AS "listId", k.id, e.status, e.source,
           e.ip_address AS "ipAddress", e.at, i.file_name AS "fileName", u.email AS "importedBy"
      FROM unnest(${keys.map((key) => key.listId)}::bigint[], ${keys.map((key) => key.id)}::bigint[]) AS k (list_id, id)
     CROSS JOIN LATERAL (
       (SELECT customer_id, id, status, source, ip_address, at FROM consent_event
         WHERE customer_id = ${customerId} AND list_id = k.list_id AND subscriber_id = k.id
         ORDER BY id DESC LIMIT ${EVENTS_MAX})
       UNION ALL
       SELECT s.customer_id, 0, 'subscribed', s.source, s.ip_address, s.created_at FROM subscriber s
        WHERE s.customer_id = ${customerId} AND s.list_id = k.list_id AND s.id = k.id AND ${HAS_IMPORT_ENTRY}) e
    ${JOIN_IMPORT}
     ORDER BY e.id`,
  );
  const bySubscriber = Map.groupBy(rows, (event) => event.id);
  return keys.map((key) => bySubscriber.get(key.id) ?? []);
}

const CONFIRMATION_LINK_ROW = row({
  expired: 'bool',
  /** The person subscribed or unsubscribed after the link was made. */
  used: 'bool',
});
export type ConfirmationLink = RowOf<typeof CONFIRMATION_LINK_ROW>;

/** The state of a confirmation link with this expiry. */
export async function confirmationLink(db: Queryable, key: SubscriberKey, expiresAt: Date): Promise<ConfirmationLink> {
  const [link] = await db.query(
    CONFIRMATION_LINK_ROW,
    sql`
      SELECT ${expiresAt}::timestamptz <= now() AS expired, EXISTS (
        SELECT 1 FROM consent_event
         WHERE customer_id = ${key.customerId} AND list_id = ${key.listId} AND subscriber_id = ${key.id}
           AND status IN ('subscribed', 'unsubscribed')
           AND at >= ${expiresAt}::timestamptz - make_interval(days => ${CONFIRMATION_DAYS})) AS used`,
  );
  assert(link, 'a statement without a table answers one row');
  return link;
}
