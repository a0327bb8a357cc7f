/**
 * Stores tracking events as they came, in one row of `hot.tracking_event`: a request waits only for this. Their meaning is found
 * when they are moved (move-tracking-events.ts).
 */
import { plainArray, textArray } from '../../db/array-text.ts';
import { sql, type Queryable, type Transaction } from '../../db/database.ts';
import type { TrackingEvent } from './tracking-event.ts';

/** Writes one row with all of them; one recipient's clicks in it are one burst (`roundsOf`). */
export async function appendTrackingEvents(db: Queryable, trackingEvents: readonly TrackingEvent[]): Promise<void> {
  const now = performance.now();
  const ages = trackingEvents.map(({ cameAt }) => Math.max(Math.round(now - (cameAt ?? now)), 0));
  const ids = (of: (trackingEvent: TrackingEvent) => bigint | number | null) => plainArray(trackingEvents, of);
  const texts = (of: (trackingEvent: TrackingEvent) => string | null | undefined) => textArray(trackingEvents, of);
  await db.execute(
    sql`INSERT INTO hot.tracking_event (since, until, size, customer_ids, list_ids, source_kinds, source_ids, recipient_ids, occurrences, link_nos, urls,
               are_machines, is_prefetch, ips, user_agents, countries, regions, cities, ages)
        VALUES (now() - make_interval(secs => ${Math.max(...ages) / 1_000}), now() - make_interval(secs => ${Math.min(...ages) / 1_000}),
                ${trackingEvents.length}, ${ids(({ recipient }) => recipient.customerId)}, ${ids(({ recipient }) => recipient.listId)},
                ${ids(({ recipient }) => recipient.sourceKind)}, ${ids(({ recipient }) => recipient.sourceId)},
                ${ids(({ recipient }) => recipient.recipientId)}, ${ids(({ recipient }) => recipient.occurrence)},
                ${ids(({ linkNo }) => linkNo)}, ${texts(({ url }) => url)},
                ${ids(({ visitor }) => Number(visitor.isMachine))}, ${ids(({ visitor }) => Number(visitor.looksAhead))},
                ${texts(({ visitor }) => visitor.ip)}, ${texts(({ visitor }) => visitor.userAgent)},
                ${texts(({ visitor }) => visitor.place?.country)}, ${texts(({ visitor }) => visitor.place?.region)},
                ${texts(({ visitor }) => visitor.place?.city)}, ${`{${ages.join(',')}}`})`,
    'tracking.append',
  );
}

/** Splits the oldest row into rows of one event each; returns the row when it had only one event: it is dropped. */
export function splitOldestRow(tx: Transaction): Promise<{ id: bigint; size: number }[]> {
  return tx.query(
    { id: 'bigint', size: 'int' },
    sql`
    WITH bad AS (
      DELETE FROM hot.tracking_event WHERE id = (SELECT min(id) FROM hot.tracking_event) RETURNING *
    ), split AS (
      INSERT INTO hot.tracking_event (written_at, since, until, size, customer_ids, list_ids, source_kinds, source_ids, recipient_ids, occurrences, link_nos, urls,
             are_machines, is_prefetch, ips, user_agents, countries, regions, cities, ages)
      SELECT b.written_at, b.written_at - e.age * interval '1 millisecond', b.written_at - e.age * interval '1 millisecond', 1,
             ARRAY[e.customer], ARRAY[e.list], ARRAY[e.kind], ARRAY[e.source], ARRAY[e.recipient], ARRAY[e.occurrence], ARRAY[e.link], ARRAY[e.url],
             ARRAY[e.machine], ARRAY[e.ahead], ARRAY[e.ip], ARRAY[e.agent], ARRAY[e.country], ARRAY[e.region], ARRAY[e.city], ARRAY[e.age]
        FROM bad b, unnest(b.customer_ids, b.list_ids, b.source_kinds, b.source_ids, b.recipient_ids, b.occurrences, b.link_nos, b.urls, b.are_machines, b.is_prefetch,
                           b.ips, b.user_agents, b.countries, b.regions, b.cities, b.ages)
               AS e (customer, list, kind, source, recipient, occurrence, link, url, machine, ahead, ip, agent, country, region, city, age)
       WHERE b.size > 1
    )
    SELECT id, size FROM bad WHERE size = 1`,
  );
}

/** Takes as long as writing a batch, and writes nothing: one transaction with one record in the database's log. */
export async function appendNothing(db: Queryable): Promise<void> {
  await db.execute(sql`SELECT pg_logical_emit_message(true, 'mailwright', '')`);
}
