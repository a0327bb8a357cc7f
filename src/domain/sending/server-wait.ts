/**
 * What keeps the servers of a campaign from sending, and until when, in words for its owner. Derived from what the gate
 * has written down (health, paces, warm-up) when somebody looks; nothing is kept for it while mail is sent.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { readableTime } from '../../lib/units.ts';
import { routedServers } from './choose-server.ts';
import { quotaOf, type Pace, type QuotaRow } from './routing/paces.ts';

/** Somebody or something waits. */
export interface Wait {
  readonly text: string;
  /** Nothing has to be mended: it goes on by itself. */
  readonly isInOrder: boolean;
}

/** What a bucket held when it was last looked at. */
interface BucketState {
  readonly tokens: number | null;
  readonly refilledAt: Date | null;
}

interface ServerRow extends QuotaRow, BucketState {
  readonly [column: string]: unknown;
  readonly name: string;
  readonly weight: number | null;
  readonly isResting: boolean;
  readonly restsSince: Date | null;
  /** Null: it is being tried. */
  readonly restsUntil: Date | null;
  readonly error: string | null;
  readonly isStopped: boolean;
  readonly dayLimit: number | null;
  readonly dayEndsAt: Date | null;
  readonly sendsPerHour: number | null;
  readonly customerTokens: number | null;
  readonly customerRefilledAt: Date | null;
}

/** One message in less than this is slow, not waiting. */
const PACE_SECONDS_MIN = 5;
/** Jobs come back one after the other; a message that is due for longer waits for something else. */
const LATE_SECONDS = 60;
const ERROR_LENGTH_MAX = 300;

const COLUMNS = sql`s.name, s.quota_value, s.quota_base, s.quota_unit,
  coalesce(h.state <> 'closed' OR h.open_until > now(), false) AS "isResting",
  CASE WHEN h.state <> 'closed' THEN h.opened_at END AS "restsSince",
  CASE WHEN h.open_until > now() THEN h.open_until END AS "restsUntil", h.last_error AS error,
  s.warm_up IS NOT NULL AND s.warm_up_stopped_at IS NOT NULL AS "isStopped", hot.warm_up_limit(s.warm_up, d.day) AS "dayLimit",
  CASE WHEN d.taken >= hot.warm_up_limit(s.warm_up, d.day) THEN s.warm_up_started_at + make_interval(secs => 86400 * d.day) END AS "dayEndsAt",
  b.tokens, b.refilled_at AS "refilledAt",
  w.sends_per_hour AS "sendsPerHour", wb.tokens AS "customerTokens", wb.refilled_at AS "customerRefilledAt"`;
const STANDING = sql`
  JOIN customer w ON w.id = k.customer_id
  LEFT JOIN hot.rate_bucket wb ON wb.key = 'customer:' || w.id
  LEFT JOIN hot.server_health h ON h.server_id = s.id AND h.mailbox_group = ''
  LEFT JOIN hot.warm_up_day d ON s.warm_up IS NOT NULL AND d.server_id = s.id AND d.day = hot.warm_up_day_no(s.warm_up_started_at)
  LEFT JOIN hot.rate_bucket b ON b.key = 'server:' || s.id`;
/** Asked for each campaign `k`. */
const QUESTION = {
  customerId: sql`k.customer_id`,
  campaignRoutes: sql`(SELECT g.sending_servers FROM campaign g WHERE g.customer_id = k.customer_id AND g.id = k.campaign_id)`,
};

/** For each campaign, in their order; undefined: one of the servers that its next batch may go through sends now. */
export async function serverWaits(
  db: Queryable,
  keys: readonly { customerId: bigint; campaignId: bigint }[],
): Promise<(Wait | undefined)[]> {
  const rows = await db.query<ServerRow & { no: number }>(
    sql`SELECT k.no::int AS no, t.*
          FROM unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
               WITH ORDINALITY AS k (customer_id, campaign_id, no)
         CROSS JOIN LATERAL (${routedServers(COLUMNS, QUESTION, STANDING)}) t
         ORDER BY k.no, t.place`,
    'sending.server-waits',
  );
  const byCampaign = Map.groupBy(rows, ({ no }) => no);
  return keys.map((_key, index) => waitOf(byCampaign.get(index + 1) ?? []));
}

function waitOf(servers: readonly ServerRow[]): Wait | undefined {
  if (servers.length === 0)
    return { text: 'There is no active sending server that it may be sent through.', isInOrder: false };
  const able = servers.filter((server) => !unusable(server));
  // Without weights the first one that can carry everything, as fast as it may.
  const carrying = able[0]?.weight === null ? able.slice(0, 1) : able;
  const waits = carrying.length > 0 ? carrying.map(paced) : servers.toSorted(soonest).map(unusable);
  return waits.every((wait) => wait !== undefined) ? waits[0] : undefined;
}

function unusable(server: ServerRow): Wait | undefined {
  const { isResting, isStopped, dayEndsAt, dayLimit } = server;
  const name = `Sending server "${server.name}"`;
  if (isResting) return { text: `${name} ${restOf(server)}`, isInOrder: false };
  if (isStopped)
    return { text: `${name} has stopped its warm-up: too much bounced. Reset its health to go on.`, isInOrder: false };
  if (dayEndsAt === null) return undefined;
  const text = `${name} warms up and has sent its ${dayLimit} messages of the day: it goes on at ${readableTime(dayEndsAt)}.`;
  return { text, isInOrder: true };
}

function restOf({ restsSince, restsUntil, error }: ServerRow): string {
  const since = restsSince === null ? '' : ` since ${readableTime(restsSince)}`;
  const why = error === null ? '' : ` (${error.slice(0, ERROR_LENGTH_MAX)})`;
  const next = restsUntil === null ? 'it is being tried again' : `it is tried again at ${readableTime(restsUntil)}`;
  return `cannot be used${since}${why}: ${next}.`;
}

/** A pace by which so little goes that it looks like standing still; the slower one of the server's and the customer's. */
function paced({ name, sendsPerHour, customerTokens, customerRefilledAt, ...server }: ServerRow): Wait | undefined {
  const customers = sendsPerHour === null ? null : { value: sendsPerHour, periodSeconds: 3_600 };
  const { quota_base: base, quota_unit: unit } = server;
  const period = (base ?? 1) === 1 ? (unit ?? 'hour') : `${base} ${unit ?? 'hour'}s`;
  return (
    waitFor(quotaOf(server), server, `Sending server "${name}" sends at most ${server.quota_value} per ${period}`) ??
    waitFor(
      customers,
      { tokens: customerTokens, refilledAt: customerRefilledAt },
      `All campaigns together send at most ${sendsPerHour} per hour`,
    )
  );
}

function waitFor(pace: Pace | null, { tokens, refilledAt }: BucketState, what: string): Wait | undefined {
  if (pace === null || tokens === null || refilledAt === null) return undefined;
  const secondsEach = pace.periodSeconds / pace.value;
  if (secondsEach < PACE_SECONDS_MIN) return undefined;
  const at = refilledAt.getTime() + Math.max(0, 1 - tokens) * secondsEach * 1_000;
  if (at < Date.now() - LATE_SECONDS * 1_000) return undefined;
  const next = new Date(Math.max(at, Date.now()));
  return { text: `${what}: the next message goes at ${readableTime(next)}.`, isInOrder: true };
}

/** Those that rest or are tried come back first, then those whose day is over. */
function soonest(a: ServerRow, b: ServerRow): number {
  return Number(isFull(a)) - Number(isFull(b)) || (a.restsUntil?.getTime() ?? 0) - (b.restsUntil?.getTime() ?? 0);
}

function isFull({ isResting, isStopped, dayEndsAt }: ServerRow): boolean {
  return !isResting && (isStopped || dayEndsAt !== null);
}
