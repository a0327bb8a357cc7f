/**
 * Undoing a click on the unsubscribe page: which consent events can be undone, and what ends it. A later withdrawal by any way
 * adds an event after the click, so that the undo never overrides it.
 */
import { sql, type Queryable, type Sql } from '../../db/database.ts';
import type { SubscriberKey } from './subscriber-store.ts';
import type { ConsentSource } from './subscriber.ts';
import { ofCustomer } from './suppression-store.ts';

/** Enough to notice a mistake; later, a person signs up again. */
export const UNDO_MINUTES = 60;

/** Whether the event e of consent_event is a click on the page that ended a subscription, and not too old to be undone. */
const IS_UNDOABLE = sql`e.status = 'unsubscribed' AND e.source = 'link' AND e.at >= now() - make_interval(mins => ${UNDO_MINUTES}::int)
  AND (SELECT p.status FROM consent_event p
        WHERE p.customer_id = e.customer_id AND p.list_id = e.list_id AND p.subscriber_id = e.subscriber_id AND p.id < e.id
        ORDER BY p.id DESC LIMIT 1) IS DISTINCT FROM 'unsubscribed'`;

/** Whether this event is the latest of the person and can be undone. */
export async function isUndoable(
  db: Queryable,
  { customerId, listId, id, eventId }: SubscriberKey & { readonly eventId: bigint },
): Promise<boolean> {
  const latest = await db.execute(
    sql`SELECT 1 FROM consent_event e
         WHERE e.customer_id = ${customerId} AND e.list_id = ${listId} AND e.subscriber_id = ${id} AND e.id = ${eventId} AND ${IS_UNDOABLE}
           AND NOT EXISTS (SELECT 1 FROM consent_event f WHERE f.customer_id = e.customer_id AND f.list_id = e.list_id
                              AND f.subscriber_id = e.subscriber_id AND f.id > e.id)`,
    'audience.is_undoable',
  );
  return latest > 0;
}

export interface Withdrawal {
  readonly source: ConsentSource;
  readonly ipAddress: string | null;
}

/**
 * Adds this withdrawal to the history of those people whose latest event can be undone, or was a move to another list: who was moved has not
 * opted out before. At most one event per click, however often
 * it is repeated. `people` selects customer_id, list_id and id of rows that the caller has locked, or locks them; `name`: the statement is
 * prepared, with the same `people` always.
 */
export async function endUndo(
  db: Queryable,
  people: Sql,
  { source, ipAddress }: Withdrawal,
  name?: string,
): Promise<void> {
  await db.execute(
    sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source, ip_address)
        SELECT e.customer_id, e.list_id, e.subscriber_id, 'unsubscribed', ${source}, ${ipAddress}
          FROM (${people}) s
         CROSS JOIN LATERAL (SELECT * FROM consent_event c
                              WHERE c.customer_id = s.customer_id AND c.list_id = s.list_id AND c.subscriber_id = s.id
                              ORDER BY c.id DESC LIMIT 1) e
         WHERE ${IS_UNDOABLE} OR e.source = 'move'`,
    name,
  );
}

/** The same for one person. */
export function endUndoOf(db: Queryable, { customerId, listId, id }: SubscriberKey, by: Withdrawal): Promise<void> {
  return endUndo(
    db,
    sql`SELECT ${customerId}::bigint AS customer_id, ${listId}::bigint AS list_id, ${id}::bigint AS id`,
    by,
    'audience.end_undo',
  );
}

/** The same for several people of one customer, whose rows the caller has locked. */
export function endUndoOfPeople(db: Queryable, people: readonly SubscriberKey[], by: Withdrawal): Promise<void> {
  const customers = people.map(({ customerId }) => customerId);
  const lists = people.map(({ listId }) => listId);
  const ids = people.map(({ id }) => id);
  return endUndo(
    db,
    sql`SELECT * FROM unnest(${customers}::bigint[], ${lists}::bigint[], ${ids}::bigint[]) AS p (customer_id, list_id, id)`,
    by,
    'audience.end_undo_of_people',
  );
}

/** The same for an address on every list of the customer, or of all customers. */
export function endUndoOfAddress(
  db: Queryable,
  { customerId, emailKey }: { readonly customerId: bigint; readonly emailKey: string },
  by: Withdrawal,
): Promise<void> {
  const people = sql`SELECT customer_id, list_id, id FROM subscriber
                      WHERE ${ofCustomer(customerId)} AND email_key = ${emailKey} AND status = 'unsubscribed'`;
  return endUndo(db, people, by);
}
