/** What becomes of tracking events that can never be moved on, because a value in them fits nowhere: nothing waits behind them. */
import type { Context } from '../context.ts';
import { sql } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { messageOf } from '../../lib/errors.ts';
import { MOVING_LOCK } from './tracking-event.ts';

/** PostgreSQL's classes for values that cannot be stored: a try with the same values ends the same way. */
const DATA_EXCEPTION = '22';
const INTEGRITY_VIOLATION = '23';

/** Whether a try with the same tracking events fails again. */
export function isFaultOfData(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return error.code.startsWith(DATA_EXCEPTION) || error.code.startsWith(INTEGRITY_VIOLATION);
}

/**
 * Splits the oldest row into rows of one tracking event each, so that the good ones go on; one that is alone already is dropped,
 * and the log says so. In turn with whoever moves: the lock is the same.
 */
export async function takeApart(ctx: Context, error: unknown): Promise<void> {
  const [dropped] = await ctx.database.transaction(async (tx) => {
    await lockUntilCommit(tx, MOVING_LOCK);
    return tx.query<{ id: bigint; size: number }>(sql`
      WITH bad AS (
        DELETE FROM hot.visit WHERE id = (SELECT min(id) FROM hot.visit) RETURNING *
      ), split AS (
        INSERT INTO hot.visit (written_at, since, until, size, customer_ids, list_ids, campaign_ids, subscriber_ids, link_nos, urls,
               are_machines, look_ahead, ips, user_agents, countries, regions, cities, ages)
        SELECT b.written_at, b.written_at - e.age * interval '1 millisecond', b.written_at - e.age * interval '1 millisecond', 1,
               ARRAY[e.customer], ARRAY[e.list], ARRAY[e.campaign], ARRAY[e.subscriber], ARRAY[e.link], ARRAY[e.url],
               ARRAY[e.machine], ARRAY[e.ahead], ARRAY[e.ip], ARRAY[e.agent], ARRAY[e.country], ARRAY[e.region], ARRAY[e.city], ARRAY[e.age]
          FROM bad b, unnest(b.customer_ids, b.list_ids, b.campaign_ids, b.subscriber_ids, b.link_nos, b.urls, b.are_machines, b.look_ahead,
                             b.ips, b.user_agents, b.countries, b.regions, b.cities, b.ages)
                 AS e (customer, list, campaign, subscriber, link, url, machine, ahead, ip, agent, country, region, city, age)
         WHERE b.size > 1
      )
      SELECT id, size FROM bad WHERE size = 1`);
  });
  if (dropped) ctx.log.error('tracking.event_lost', { trackingEvent: dropped.id, message: messageOf(error) });
}
