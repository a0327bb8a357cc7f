/**
 * Moves tracking events on from where requests wrote them down: events, what each recipient did, and every counter beside them,
 * in one statement for thousands of tracking events, so that no screen ever counts rows. The tracking events are deleted in the same
 * transaction: each is moved exactly once, whoever dies when. Tracking events of campaigns or people that are gone leave no trace.
 *
 * What counts. Every display of the pixel is an open. A click is counted unless a machine looked ahead (HEAD,
 * prefetch); such a click is kept as an event. A click proves reading: a recipient whose pixel was blocked is counted
 * as having opened once, where the campaign counts opens at all.
 *
 * Beside those, what people did is counted apart (decision record 0074). A machine's are: what the visitor says of
 * itself or where it comes from (machine-request.ts), what comes sooner after the delivery than a person can, and
 * clicks of three different links (or of both, where a message has two), each within a second of another. The first
 * clicks of such a run were taken for a person's: they are marked afterwards, and the counters follow.
 */
import type { Context } from '../context.ts';
import { sql, type Sql, type Transaction } from '../../db/database.ts';
import { announceCampaignChange } from '../statistics/announce-campaign-change.ts';
import { COUNTERS } from './activity-counters-sql.ts';
import { CHANGE, EVENTS, SEEN } from './activity-sql.ts';
import { MOVING_LOCK } from './tracking-event.ts';
import { sliceOf, type TrackingEventRow } from './tracking-event-slice.ts';

/** The name of the statement that an idle process asks again and again. */
export const LOOKING = 'tracking.visits_wait';

export interface MoveOptions {
  /** Rows with smaller ids are not looked for: dead ones need not be walked past every time. */
  readonly fromId?: bigint;
  /** At most about so many tracking events. */
  readonly sizeMax?: number;
}

export interface Moved {
  /** Tracking events that were moved; 0 when none wait, or when somebody else is at it. */
  readonly trackingEvents: number;
  /** The smallest id that was there; undefined when none was. */
  readonly firstId: bigint | undefined;
  readonly isAnotherAtIt: boolean;
  /** Some are left that had come before. */
  readonly isMore: boolean;
  /** How long the first of those that waited had waited. */
  readonly lagMs: number;
}

/**
 * Measured: 4,000 at once cost the database a third less each than 500, more of them hardly less; and the counters of a
 * campaign are locked for a tenth of a second.
 */
export const MOVE_SIZE_MAX = 4_000;
/** Rows looked at in one go; in a crowd each holds thirty tracking events or more. */
const ROWS_MAX = 300;

const NONE_OF_OURS: Moved = { trackingEvents: 0, firstId: undefined, isAnotherAtIt: true, isMore: false, lagMs: 0 };

/** Moves some tracking events on, the oldest first, then tells the live statistics. One process does so at a time. */
export async function moveTrackingEvents(
  ctx: Context,
  { fromId = 0n, sizeMax = MOVE_SIZE_MAX }: MoveOptions = {},
): Promise<Moved> {
  return ctx.database.transaction(async (tx) => {
    if (!(await begin(tx))) return NONE_OF_OURS;
    const waiting = await tx.query<TrackingEventRow & { lagMs: number }>(
      sql`SELECT id, size, since, until, (extract(epoch FROM now() - since) * 1000)::float8 AS "lagMs" FROM hot.visit WHERE id >= ${fromId} ORDER BY id LIMIT ${ROWS_MAX}`,
      'tracking.waiting_visits',
    );
    const slice = sliceOf(waiting, sizeMax);
    if (slice.length > 0) await move(ctx, tx, slice);
    const trackingEvents = slice.reduce((sum, { size }) => sum + size, 0);
    const [first] = waiting;
    const isMore = slice.length < waiting.length;
    return { trackingEvents, firstId: first?.id, isAnotherAtIt: false, isMore, lagMs: first?.lagMs ?? 0 };
  });
}

/** Whether there is anything to move: one look-up by key. */
export async function trackingEventsWait({ db }: Pick<Context, 'db'>, fromId: bigint): Promise<boolean> {
  const rows = await db.query(sql`SELECT 1 FROM hot.visit WHERE id >= ${fromId} ORDER BY id LIMIT 1`, LOOKING);
  return rows.length > 0;
}

/**
 * Whether we are the one. Tracking events come in thousands and tables grow faster than their statistics: whatever those say,
 * every look-up is one by key.
 */
async function begin(tx: Transaction): Promise<boolean> {
  const [row] = await tx.query<{ isOurs: boolean }>(
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${MOVING_LOCK}, 0)) AS "isOurs",
               set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
               set_config('enable_mergejoin', 'off', true), set_config('enable_memoize', 'off', true),
               set_config('jit', 'off', true),
               set_config('plan_cache_mode', 'force_generic_plan', true)`,
    'tracking.begin_moving',
  );
  return row?.isOurs === true;
}

/** A campaign whose counters changed; or a recipient whose clicks since a time turned out to be a machine's. */
interface Written extends Record<string, unknown> {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly subscriberId: bigint | null;
  readonly since: Date | null;
}

/**
 * The events of a run are marked by a statement of their own: what an unsubscribe has written while ours waited for the
 * recipient's row is not in the snapshot of ours.
 */
async function move(ctx: Context, tx: Transaction, slice: readonly TrackingEventRow[]): Promise<void> {
  const rows = await tx.query<Written>(moving(slice.map(({ id }) => id)), 'tracking.move');
  const runs = rows.filter(({ since }) => since !== null);
  if (runs.length > 0) await tx.execute(marking(runs), 'tracking.mark_runs');
  for (const { customerId, campaignId, since } of rows)
    if (since === null) tx.afterCommit(() => announceCampaignChange(ctx, { customerId, campaignId }));
}

function marking(runs: readonly Written[]): Sql {
  return sql`
WITH run AS MATERIALIZED (
  SELECT * FROM unnest(${runs.map(({ customerId }) => customerId)}::bigint[], ${runs.map(({ campaignId }) => campaignId)}::bigint[],
    ${runs.map(({ subscriberId }) => subscriberId)}::bigint[], ${runs.map(({ since }) => since)}::timestamptz[]
  ) AS r (customer_id, campaign_id, subscriber_id, since)
), opens AS (
  UPDATE hot.open_event e SET is_machine = true FROM run r
   WHERE e.customer_id = r.customer_id AND e.campaign_id = r.campaign_id AND e.subscriber_id = r.subscriber_id
     AND e.at >= r.since AND e.at > now() - interval '1 day' AND e.by_click AND NOT e.is_machine
)
UPDATE hot.click_event e SET is_machine = true FROM run r
 WHERE e.customer_id = r.customer_id AND e.campaign_id = r.campaign_id AND e.subscriber_id = r.subscriber_id
   AND e.at >= r.since AND e.at > now() - interval '1 day' AND NOT e.is_machine`;
}

function moving(ids: readonly bigint[]): Sql {
  return sql`
WITH taken AS MATERIALIZED (
  DELETE FROM hot.visit WHERE id = ANY (${ids}::bigint[]) RETURNING *
), given AS (
  SELECT e.customer_id, e.list_id, e.campaign_id, e.subscriber_id, e.link_no, e.url, e.is_machine, e.looks_ahead, e.ip, e.user_agent,
         e.country, e.region, e.city, v.written_at - e.age * interval '1 millisecond' AS at
    FROM taken v, unnest(v.customer_ids, v.list_ids, v.campaign_ids, v.subscriber_ids, v.link_nos, v.urls, v.are_machines, v.look_ahead,
                         v.ips, v.user_agents, v.countries, v.regions, v.cities, v.ages)
           AS e (customer_id, list_id, campaign_id, subscriber_id, link_no, url, is_machine, looks_ahead, ip, user_agent, country, region, city, age)
), ${SEEN}, ${CHANGE}, ${EVENTS}, ${COUNTERS}
SELECT customer_id AS "customerId", campaign_id AS "campaignId", NULL::bigint AS "subscriberId", NULL::timestamptz AS since FROM campaigns
UNION ALL
SELECT customer_id, campaign_id, subscriber_id, run_since FROM change WHERE takes_back`;
}
