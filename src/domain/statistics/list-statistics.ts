/** The figures of lists (specification 2.1), read from their counters. */
import type { Context } from '../context.ts';
import { sql } from '../../db/database.ts';
import { rate } from './rate.ts';

export interface ListKey {
  readonly customerId: bigint;
  readonly listId: bigint;
}

/** One list's figures. Rates are fractions 0..1, rounded to four places. */
export interface ListStatistics {
  /** Everybody on the list, whatever the status. */
  readonly subscriberCount: number;
  readonly subscribedCount: number;
  readonly unsubscribeCount: number;
  /** Unconfirmed and pending together (decision D17). */
  readonly unconfirmedCount: number;
  readonly subscribeRate: number;
  readonly unsubscribeRate: number;
  /** First opens per message sent, over all campaigns of the list. */
  readonly openUniqRate: number;
  /** First clicks per message sent, over all campaigns of the list. */
  readonly clickRate: number;
}

interface CounterRow {
  subscribed: number;
  unsubscribed: number;
  unconfirmed: number;
  sent: number;
  opened: number;
  clicked: number;
}

/** The figures of the lists asked for, in their order; zeros for an empty one. One statement for all. */
export async function readListStatistics(
  ctx: Pick<Context, 'db'>,
  keys: readonly ListKey[],
): Promise<ListStatistics[]> {
  const rows = await ctx.db.query<CounterRow & Record<string, unknown>>(
    sql`SELECT coalesce(c.subscribed, 0) AS subscribed, coalesce(c.unsubscribed, 0) AS unsubscribed,
               coalesce(c.unconfirmed + c.pending, 0) AS unconfirmed, coalesce(c.sent_count, 0)::float8 AS sent,
               coalesce(c.uniq_open_count, 0)::float8 AS opened, coalesce(c.uniq_click_count, 0)::float8 AS clicked
          FROM unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ listId }) => listId)}::bigint[])
               WITH ORDINALITY AS k (customer_id, list_id, no)
          LEFT JOIN hot.list_counter c ON c.customer_id = k.customer_id AND c.list_id = k.list_id
         ORDER BY k.no`,
    'statistics.lists',
  );
  return rows.map(statisticsOf);
}

function statisticsOf(row: CounterRow): ListStatistics {
  const subscriberCount = row.subscribed + row.unsubscribed + row.unconfirmed;
  return {
    subscriberCount,
    subscribedCount: row.subscribed,
    unsubscribeCount: row.unsubscribed,
    unconfirmedCount: row.unconfirmed,
    subscribeRate: rate(row.subscribed, subscriberCount),
    unsubscribeRate: rate(row.unsubscribed, subscriberCount),
    openUniqRate: rate(row.opened, row.sent),
    clickRate: rate(row.clicked, row.sent),
  };
}
