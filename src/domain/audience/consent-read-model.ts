/** What a person agreed to or withdrew, newest last: answers "why do I get this mail?". */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { assert } from '../../lib/errors.ts';
import type { SubscriberKey } from './subscriber-store.ts';
import type { SubscriberStatus } from './subscriber-fields.ts';
import { CONFIRMATION_DAYS } from './subscriber.ts';

export interface ConsentEvent extends SubscriberKey {
  readonly status: SubscriberStatus;
  readonly source: string;
  readonly ipAddress: string | null;
  readonly at: Date;
}

/** Events shown per person, the newest; normal people have far fewer. */
const EVENTS_MAX = 100;

const CONSENT_ROW = row({
  status: typed<SubscriberStatus>('text'),
  source: 'text',
  ipAddress: 'text?',
  at: 'timestamptz',
  id: 'bigint',
  customerId: 'bigint',
  listId: 'bigint',
});

/**
 * The consent histories of several people of one customer, in the order asked for, in one statement. An import writes no entry
 * for those it adds as subscribed, which would double its writes: the entry is made here from their row. Others, or those with
 * another status, have an entry of that moment.
 */
export async function consentHistories(
  db: Queryable,
  customerId: bigint,
  keys: readonly SubscriberKey[],
): Promise<ConsentEvent[][]> {
  const rows = await db.query(
    CONSENT_ROW,
    sql`
    SELECT ${customerId}::bigint AS "customerId", k.list_id AS "listId", k.id, e.status, e.source,
           e.ip_address AS "ipAddress", e.at
      FROM unnest(${keys.map((key) => key.listId)}::bigint[], ${keys.map((key) => key.id)}::bigint[]) AS k (list_id, id)
     CROSS JOIN LATERAL (
       (SELECT id, status, source, ip_address, at FROM consent_event
         WHERE customer_id = ${customerId} AND list_id = k.list_id AND subscriber_id = k.id
         ORDER BY id DESC LIMIT ${EVENTS_MAX})
       UNION ALL
       SELECT 0, 'subscribed', s.source, s.ip_address, s.created_at FROM subscriber s
        WHERE s.customer_id = ${customerId} AND s.list_id = k.list_id AND s.id = k.id AND s.source LIKE 'import:%'
          AND NOT EXISTS (SELECT 1 FROM consent_event f
                           WHERE f.customer_id = ${customerId} AND f.list_id = k.list_id AND f.subscriber_id = k.id
                             AND f.at <= s.created_at)) e
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
