/**
 * An index of one list's people in one statement if possible: the list, the number of its people, its fields, and the page itself
 * when it is near the beginning. Indexes are the most frequent requests, and each statement costs a round trip.
 */
import { preparedName, sql, typed, row, type Queryable } from '../../db/database.ts';
import type { MailList } from './list-fields.ts';
import {
  isNearStart,
  peopleAsJson,
  personOf,
  type PeopleCount,
  type PersonJson,
  type SubscriberFilter,
  type SubscriberWindow,
} from './subscriber-page-read-model.ts';
import type { Subscriber } from './subscriber.ts';

export interface ListHead extends PeopleCount {
  readonly list: Pick<MailList, 'customerId' | 'id'>;
  /** In the order of the fields. */
  readonly fieldTags: readonly string[];
  /** The requested page when it is near the beginning; else `subscriberPage` reads it. */
  readonly people: readonly Subscriber[] | undefined;
}

export type ListHeadWindow = SubscriberWindow & Pick<SubscriberFilter, 'opened' | 'clicked' | 'verification'>;

const FIND_LIST_HEAD_ROW = row({
  id: 'bigint',
  fieldTags: 'text[]',
  people: typed<PersonJson[]>('json?'),
  everybody: 'int',
  openers: 'int',
  clickers: 'int',
});

/** Undefined when the customer has no such list. */
export async function findListHead(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string },
  window: ListHeadWindow,
): Promise<ListHead | undefined> {
  const { offset, limit, ...filter } = window;
  const people = isNearStart(filter, offset)
    ? peopleAsJson({ customerId, list: { id: sql`l.id` }, ...filter }, { direction: 'forward', offset, limit })
    : sql`NULL::json`;
  const statement = sql`
    SELECT l.id, coalesce(c.subscribed + c.unsubscribed + c.unconfirmed + c.pending, 0) AS everybody,
           coalesce(c.openers, 0) AS openers, coalesce(c.clickers, 0) AS clickers,
           ARRAY(SELECT f.tag FROM list_field f
                  WHERE f.customer_id = l.customer_id AND f.list_id = l.id ORDER BY f.custom_order, f.id) AS "fieldTags",
           ${people} AS people
      FROM mail_list l LEFT JOIN hot.list_counter c ON c.customer_id = l.customer_id AND c.list_id = l.id
     WHERE l.customer_id = ${customerId} AND l.uid = ${uid}`;
  const [row] = await db.query(FIND_LIST_HEAD_ROW, statement, preparedName('audience.list_head', statement));
  if (!row) return undefined;
  const list = { customerId, id: row.id };
  return { ...row, list, people: row.people?.map((person) => personOf(customerId, person)) };
}
