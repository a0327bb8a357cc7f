/** The numbers of lists (specification 2.1), from counters: no page counts rows. */
import { SOURCE_KINDS } from '../source-key.ts';
import { sql, row, type Queryable } from '../../db/database.ts';

export interface ListCounters {
  readonly subscribed: number;
  readonly unsubscribed: number;
  readonly unconfirmed: number;
  readonly pending: number;
  readonly openers: number;
  readonly clickers: number;
  /** Accepted messages of all its campaigns, including deleted ones. */
  readonly sentCount: bigint;
  readonly uniqOpenCount: bigint;
  readonly uniqClickCount: bigint;
}

export interface ListStatistics {
  readonly subscriberCount: number;
  readonly openUniqRate: number;
  readonly clickRate: number;
  readonly subscribeRate: number;
  readonly unsubscribeRate: number;
  readonly unsubscribeCount: number;
  readonly unconfirmedCount: number;
}

const NONE: ListCounters = {
  ...{ subscribed: 0, unsubscribed: 0, unconfirmed: 0, pending: 0, openers: 0, clickers: 0 },
  ...{ sentCount: 0n, uniqOpenCount: 0n, uniqClickCount: 0n },
};

/** Locks the counters of a list until the transaction ends, as all transactions do that add people to it. */
export async function lockCounters(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.list_counter (customer_id, list_id) VALUES (${customerId}, ${listId}) ON CONFLICT DO NOTHING`,
  );
  await db.execute(
    sql`SELECT 1 FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ${listId} FOR UPDATE`,
  );
}

/** The same of several lists, in one order: before a statement that changes people of all of them. */
export async function lockCountersOf(db: Queryable, customerId: bigint, listIds: readonly bigint[]): Promise<void> {
  await db.execute(
    sql`SELECT 1 FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[]) ORDER BY list_id FOR UPDATE`,
    'audience.lock_counters_of_lists',
  );
}

/** Keeps with its list what a campaign sent before it is deleted: its openers stay counted there too. */
export async function keepSentCount(db: Queryable, { customerId, listId, sent }: SentOfList): Promise<void> {
  await db.execute(
    sql`UPDATE hot.list_counter SET sent_count = sent_count + ${sent}
         WHERE customer_id = ${customerId} AND list_id = ${listId}`,
  );
}

interface SentOfList {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly sent: number;
}

const LIST_COUNTERS_ROW = row({
  subscribed: 'int',
  unsubscribed: 'int',
  unconfirmed: 'int',
  pending: 'int',
  openers: 'int',
  clickers: 'int',
  sentCount: 'bigint',
  uniqOpenCount: 'bigint',
  uniqClickCount: 'bigint',
  listId: 'bigint',
});

/** Counters of several lists of one customer, in the order asked for. */
export async function listCounters(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<ListCounters[]> {
  const rows = await db.query(
    LIST_COUNTERS_ROW,
    sql`SELECT c.list_id AS "listId", c.subscribed, c.unsubscribed, c.unconfirmed, c.pending, c.openers, c.clickers,
               c.sent_count + coalesce(s.sent, 0) AS "sentCount",
               c.uniq_open_count AS "uniqOpenCount", c.uniq_click_count AS "uniqClickCount"
          FROM hot.list_counter c
          -- A list has few campaigns: their counters are added up here, so that no sending job has a row more to write.
          LEFT JOIN LATERAL (
            SELECT sum(d.sent)::bigint AS sent
              FROM campaign k JOIN hot.delivery_counter d ON d.customer_id = k.customer_id AND d.source_kind = ${SOURCE_KINDS.campaign} AND d.source_id = k.id
             WHERE k.customer_id = c.customer_id AND k.list_id = c.list_id
          ) s ON true
         WHERE c.customer_id = ${customerId} AND c.list_id = ANY (${[...listIds]}::bigint[])`,
    'audience.list_counters',
  );
  const byList = new Map(rows.map(({ listId, ...counters }) => [listId, counters]));
  return listIds.map((id) => byList.get(id) ?? NONE);
}

/** How many people there are: all, those who ever opened, those who ever clicked. */
export function peopleIn({ subscribed, unsubscribed, unconfirmed, pending, openers, clickers }: ListCounters) {
  return { everybody: subscribed + unsubscribed + unconfirmed + pending, openers, clickers };
}

/** The statistics block of a list: counts, and rates from 0 to 1 with four places (D17, D23). */
export function listStatistics(counters: ListCounters): ListStatistics {
  const { subscribed, unsubscribed, unconfirmed, pending, sentCount, uniqOpenCount, uniqClickCount } = counters;
  const { everybody } = peopleIn(counters);
  return {
    subscriberCount: everybody,
    openUniqRate: rate(Number(uniqOpenCount), Number(sentCount)),
    clickRate: rate(Number(uniqClickCount), Number(sentCount)),
    subscribeRate: rate(subscribed, everybody),
    unsubscribeRate: rate(unsubscribed, everybody),
    unsubscribeCount: unsubscribed,
    unconfirmedCount: unconfirmed + pending,
  };
}

function rate(part: number, whole: number): number {
  // A message with an unknown outcome may have been opened: the rate is limited to 1.
  return whole === 0 ? 0 : Math.min(Math.round((part / whole) * 10_000) / 10_000, 1);
}
