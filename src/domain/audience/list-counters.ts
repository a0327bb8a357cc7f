/** The numbers of lists (specification 2.1), from counters: no screen counts rows. */
import { sql, type Queryable } from '../../db/database.ts';

export interface ListCounters {
  readonly subscribed: number;
  readonly unsubscribed: number;
  readonly unconfirmed: number;
  readonly pending: number;
  readonly openers: number;
  readonly clickers: number;
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

/** Counters of several lists of one customer, in the order asked for. */
export async function listCounters(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<ListCounters[]> {
  const rows = await db.query<ListCounters & { listId: bigint }>(
    sql`SELECT list_id AS "listId", subscribed, unsubscribed, unconfirmed, pending, openers, clickers, sent_count AS "sentCount",
               uniq_open_count AS "uniqOpenCount", uniq_click_count AS "uniqClickCount"
          FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[])`,
    'audience.list_counters',
  );
  const byList = new Map(rows.map(({ listId, ...counters }) => [listId, counters]));
  return listIds.map((id) => byList.get(id) ?? NONE);
}

/** The statistics block of a list: counts, and rates from 0 to 1 with four places (D17, D23). */
export function listStatistics(counters: ListCounters): ListStatistics {
  const { subscribed, unsubscribed, unconfirmed, pending, sentCount, uniqOpenCount, uniqClickCount } = counters;
  const everybody = subscribed + unsubscribed + unconfirmed + pending;
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
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000;
}
