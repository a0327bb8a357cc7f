/** What a person agreed to or withdrew, newest last: the answer to "why do I get this?". */
import { sql, type Queryable } from '../../db/database.ts';
import type { SubscriberKey } from './subscriber-store.ts';
import type { SubscriberStatus } from './subscriber.ts';

export interface ConsentEvent extends SubscriberKey {
  readonly status: SubscriberStatus;
  readonly source: string;
  readonly ipAddress: string | null;
  readonly at: Date;
}

/** Events shown per person: the newest; nobody changes his mind more often in good faith. */
const EVENTS_MAX = 100;

/** The histories of several people of one customer, in the order asked for, in one statement. */
export async function consentHistories(
  db: Queryable,
  customerId: bigint,
  keys: readonly SubscriberKey[],
): Promise<ConsentEvent[][]> {
  const rows = await db.query<ConsentEvent>(sql`
    SELECT e.customer_id AS "customerId", e.list_id AS "listId", e.subscriber_id AS id, e.status, e.source,
           e.ip_address AS "ipAddress", e.at
      FROM unnest(${keys.map((key) => key.listId)}::bigint[], ${keys.map((key) => key.id)}::bigint[]) AS k (list_id, id)
     CROSS JOIN LATERAL (
       SELECT * FROM consent_event
        WHERE customer_id = ${customerId} AND list_id = k.list_id AND subscriber_id = k.id
        ORDER BY id DESC LIMIT ${EVENTS_MAX}) e
     ORDER BY e.id`);
  const bySubscriber = Map.groupBy(rows, (event) => event.id);
  return keys.map((key) => bySubscriber.get(key.id) ?? []);
}
