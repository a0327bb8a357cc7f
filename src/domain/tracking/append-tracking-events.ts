/**
 * Writes tracking events down as they came, in one row of `hot.visit`: all that a request waits for. What they mean is found out
 * by whoever moves them on (move-tracking-events.ts).
 */
import { plainArray, textArray } from '../../db/array-text.ts';
import { sql, type Queryable } from '../../db/database.ts';
import type { TrackingEvent } from './tracking-event.ts';

/** Writes one row with all of them; one recipient's clicks in it are one run (`roundsOf`). */
export async function appendTrackingEvents(db: Queryable, trackingEvents: readonly TrackingEvent[]): Promise<void> {
  const now = performance.now();
  const ages = trackingEvents.map(({ cameAt }) => Math.max(Math.round(now - (cameAt ?? now)), 0));
  const ids = (of: (trackingEvent: TrackingEvent) => bigint | number | null) => plainArray(trackingEvents, of);
  const texts = (of: (trackingEvent: TrackingEvent) => string | null | undefined) => textArray(trackingEvents, of);
  await db.execute(
    sql`INSERT INTO hot.visit (since, until, size, customer_ids, list_ids, campaign_ids, subscriber_ids, link_nos, urls,
               are_machines, look_ahead, ips, user_agents, countries, regions, cities, ages)
        VALUES (now() - make_interval(secs => ${Math.max(...ages) / 1_000}), now() - make_interval(secs => ${Math.min(...ages) / 1_000}),
                ${trackingEvents.length}, ${ids(({ recipient }) => recipient.customerId)}, ${ids(({ recipient }) => recipient.listId)},
                ${ids(({ recipient }) => recipient.campaignId)}, ${ids(({ recipient }) => recipient.subscriberId)},
                ${ids(({ linkNo }) => linkNo)}, ${texts(({ url }) => url)},
                ${ids(({ visitor }) => Number(visitor.isMachine))}, ${ids(({ visitor }) => Number(visitor.looksAhead))},
                ${texts(({ visitor }) => visitor.ip)}, ${texts(({ visitor }) => visitor.userAgent)},
                ${texts(({ visitor }) => visitor.place?.country)}, ${texts(({ visitor }) => visitor.place?.region)},
                ${texts(({ visitor }) => visitor.place?.city)}, ${`{${ages.join(',')}}`})`,
    'tracking.append',
  );
}
