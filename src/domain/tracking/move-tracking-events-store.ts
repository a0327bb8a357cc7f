/** The statements of move-tracking-events.ts, which explains them. */
import type { Context } from '../context.ts';
import { sql, row, type Sql, type Transaction } from '../../db/database.ts';
import type { SourceKey } from '../source-key.ts';
import { COUNTERS } from './activity-counters-store.ts';
import { CHANGE, EVENTS, SEEN } from './activity-store.ts';
import { MOVING_LOCK } from './tracking-event.ts';
import type { TrackingEventRow } from './tracking-event-slice.ts';

/** The name of the statement that an idle process repeats. */
export const LOOKING = 'tracking.events_wait';
/** Rows read at once; under load each has thirty tracking events or more. */
const ROWS_MAX = 300;

/**
 * Whether this process may move. Tracking events come in thousands and tables grow faster than their statistics: every look-up
 * must be by key, whatever the statistics say.
 */
export async function beginMoving(tx: Transaction): Promise<boolean> {
  const [row] = await tx.query(
    { isOurs: 'bool', set_config: 'text' },
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${MOVING_LOCK}, 0)) AS "isOurs",
               set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
               set_config('enable_mergejoin', 'off', true), set_config('enable_memoize', 'off', true),
               set_config('jit', 'off', true),
               set_config('plan_cache_mode', 'force_generic_plan', true)`,
    'tracking.begin_moving',
  );
  return row?.isOurs === true;
}

/** The oldest rows that wait, from an id on. */
export function waitingTrackingEvents(
  tx: Transaction,
  fromId: bigint,
): Promise<(TrackingEventRow & { readonly lagMs: number })[]> {
  return tx.query(
    { id: 'bigint', size: 'int', since: 'timestamptz', until: 'timestamptz', lagMs: 'float8' },
    sql`SELECT id, size, since, until, (extract(epoch FROM now() - since) * 1000)::float8 AS "lagMs" FROM hot.tracking_event WHERE id >= ${fromId} ORDER BY id LIMIT ${ROWS_MAX}`,
    'tracking.waiting_events',
  );
}

/** Whether there is anything to move: one look-up by key. */
export async function trackingEventsWait({ db }: Pick<Context, 'db'>, fromId: bigint): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM hot.tracking_event WHERE id >= ${fromId} ORDER BY id LIMIT 1`,
    LOOKING,
  );
  return rows > 0;
}

/** A source whose counters changed; or a recipient whose clicks since a time were recognised as a machine's. */
export interface Written extends SourceKey, Record<string, unknown> {
  readonly recipientId: bigint | null;
  readonly occurrence: bigint | null;
  readonly since: Date | null;
}

const WRITTEN_ROW = row({
  recipientId: 'bigint?',
  occurrence: 'bigint?',
  since: 'timestamptz?',
  customerId: 'bigint',
  sourceKind: 'smallint',
  sourceId: 'bigint',
});

/** Moves the rows, in one statement; returns what changed. */
export function moveEvents(tx: Transaction, slice: readonly TrackingEventRow[]): Promise<Written[]> {
  return tx.query(WRITTEN_ROW, moving(slice.map(({ id }) => id)), 'tracking.move');
}

function moving(ids: readonly bigint[]): Sql {
  return sql`
WITH taken AS MATERIALIZED (
  DELETE FROM hot.tracking_event WHERE id = ANY (${ids}::bigint[]) RETURNING *
), given AS (
  SELECT e.customer_id, e.list_id, e.source_kind, e.source_id, e.recipient_id, e.occurrence, e.link_no, e.url, e.is_machine, e.looks_ahead, e.ip, e.user_agent,
         e.country, e.region, e.city, v.written_at - e.age * interval '1 millisecond' AS at
    FROM taken v, unnest(v.customer_ids, v.list_ids, v.source_kinds, v.source_ids, v.recipient_ids, v.occurrences, v.link_nos, v.urls, v.are_machines, v.is_prefetch,
                         v.ips, v.user_agents, v.countries, v.regions, v.cities, v.ages)
           AS e (customer_id, list_id, source_kind, source_id, recipient_id, occurrence, link_no, url, is_machine, looks_ahead, ip, user_agent, country, region, city, age)
), ${SEEN}, ${CHANGE}, ${EVENTS}, ${COUNTERS}
SELECT customer_id AS "customerId", source_kind AS "sourceKind", source_id AS "sourceId", NULL::bigint AS "recipientId", NULL::bigint AS occurrence,
       NULL::timestamptz AS since FROM campaigns
UNION ALL
SELECT customer_id, source_kind, source_id, recipient_id, occurrence, burst_since FROM change WHERE takes_back`;
}

/** Marks the events of clicks that were recognised as a machine's. */
export async function markMachineClicks(tx: Transaction, bursts: readonly Written[]): Promise<void> {
  await tx.execute(marking(bursts), 'tracking.mark_bursts');
}

function marking(bursts: readonly Written[]): Sql {
  return sql`
WITH burst AS MATERIALIZED (
  SELECT * FROM unnest(${bursts.map(({ customerId }) => customerId)}::bigint[], ${bursts.map(({ sourceKind }) => sourceKind)}::smallint[],
    ${bursts.map(({ sourceId }) => sourceId)}::bigint[], ${bursts.map(({ recipientId }) => recipientId)}::bigint[],
    ${bursts.map(({ occurrence }) => occurrence)}::bigint[], ${bursts.map(({ since }) => since)}::timestamptz[]
  ) AS b (customer_id, source_kind, source_id, recipient_id, occurrence, since)
), opens AS (
  UPDATE hot.open_event e SET is_machine = true FROM burst b
   WHERE e.customer_id = b.customer_id AND e.source_kind = b.source_kind AND e.source_id = b.source_id AND e.recipient_id = b.recipient_id AND e.occurrence = b.occurrence
     AND e.at >= b.since AND e.at > now() - interval '1 day' AND e.by_click AND NOT e.is_machine
)
UPDATE hot.click_event e SET is_machine = true FROM burst b
 WHERE e.customer_id = b.customer_id AND e.source_kind = b.source_kind AND e.source_id = b.source_id AND e.recipient_id = b.recipient_id AND e.occurrence = b.occurrence
   AND e.at >= b.since AND e.at > now() - interval '1 day' AND NOT e.is_machine`;
}
