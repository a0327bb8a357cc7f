/**
 * The six logs of a campaign (specification 4.4, decision D24), read page by page by key: the cost of a page depends only on its
 * rows, and no transaction is open between two pages. Events after the first page was read are not in the log; deleted people
 * have no address in it.
 */
import { sql, row, typed, type Queryable, type Sql } from '../../db/database.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import { ValidationError } from '../../lib/errors.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { Installation } from '../context.ts';
import type { LogCell, LoggedCampaign } from './logged-campaign.ts';
import { trackingLogPage } from './tracking-log-read-model.ts';
import { unsubscribeReasonText } from './unsubscribe-reason.ts';

export const LOGS = ['tracking', 'open', 'click', 'bounce', 'feedback', 'unsubscribe'] as const;
export type CampaignLog = (typeof LOGS)[number];

/** Rows of a page: large enough that its overhead is nothing, small enough to hold in memory many times over. */
export const LOG_PAGE_MAX = 5_000;

const MICROS_PER_SECOND = 1_000_000n;

/** The first columns of every log. */
const HEAD = ['time', 'campaign_uid', 'subscriber_uid', 'email'] as const;
const COLUMNS: Readonly<Record<CampaignLog, readonly string[]>> = {
  tracking: ['status', 'message_id', 'runtime_message_id', 'sending_server', 'error'],
  // `kind` (decision D63): displayed by a `human` or a `machine`, or `implied` by a click.
  open: ['ip', 'user_agent', 'country', 'is_machine', 'kind'],
  click: ['url', 'ip', 'user_agent', 'country', 'is_machine'],
  bounce: ['type', 'status_code', 'message'],
  feedback: ['type', 'message'],
  unsubscribe: ['reason', 'ip', 'user_agent'],
};

export interface LogPage {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly LogCell[])[];
  /** Where the next page begins; null: this was the last one. */
  readonly cursor: string | null;
  readonly isFirst: boolean;
}

export interface LogWindow {
  readonly log: CampaignLog;
  /** The cursor of the page before; null: from the beginning. */
  readonly after: string | null;
  readonly limit: number;
}

/** One page of a log, the oldest first (the tracking log: in the order of subscription). Throws ValidationError on `after`. */
export async function readCampaignLog(
  ctx: { readonly db: Queryable; readonly installation: Installation },
  campaign: LoggedCampaign,
  { log, after, limit }: LogWindow,
): Promise<LogPage> {
  const frame = { columns: columnsOf(log), isFirst: after === null };
  if (log === 'tracking') {
    const afterId = after === null ? 0n : trackingPosition(after);
    const page = await trackingLogPage(ctx, campaign, { afterId, limit });
    const rows = page.map(({ time, subscriberId, email, cells }) => [
      ...headOf(campaign, { time, subscriberId, email }),
      ...cells,
    ]);
    const last = page.at(-1);
    return { ...frame, rows, cursor: last && page.length === limit ? String(last.subscriberId) : null };
  }
  const position = after === null ? await newPosition(ctx.db) : eventPosition(after);
  // Not prepared: a plan for any times and any campaign would sort all events of the campaign for each page.
  const events = await ctx.db.query(EVENT_ROW, eventsAfter(campaign, { log, position, limit }));
  const last = events.at(-1);
  const rows = events.map(({ time, subscriberId, email, cells }) => [
    ...headOf(campaign, { time, subscriberId, email }),
    ...(log === 'unsubscribe' ? withText(cells) : cells),
  ]);
  const cursor = last && events.length === limit ? `${position.until}.${last.micros}.${last.id}` : null;
  return { ...frame, rows, cursor };
}

/** The reason is stored as a code. */
function withText([reason, ...cells]: LogCell[]): LogCell[] {
  return [typeof reason === 'string' ? unsubscribeReasonText(reason) : null, ...cells];
}

/** The header row. */
function columnsOf(log: CampaignLog): string[] {
  return [...HEAD, ...COLUMNS[log]];
}

const EVENT_ROW = row({
  time: 'text',
  micros: 'bigint',
  id: 'bigint',
  subscriberId: 'bigint',
  email: 'text?',
  cells: typed<LogCell[]>('json'),
});

/** The last event of the page before, and the end of the log: microseconds since 1970. */
interface EventPosition {
  readonly until: bigint;
  readonly micros: bigint;
  readonly id: bigint;
}

const EVENT_COLUMNS: Readonly<Record<Exclude<CampaignLog, 'tracking'>, Sql>> = {
  open: sql`e.ip, e.user_agent, e.country, e.is_machine, CASE WHEN e.by_click THEN 'implied' WHEN e.is_machine THEN 'machine' ELSE 'human' END`,
  click: sql`e.url, e.ip, e.user_agent, e.country, e.is_machine`,
  bounce: sql`e.type, e.status_code, e.message`,
  feedback: sql`e.type, e.message`,
  unsubscribe: sql`e.reason, e.ip, e.user_agent`,
};
const EVENT_TABLES: Readonly<Record<Exclude<CampaignLog, 'tracking'>, Sql>> = {
  open: sql`hot.open_event`,
  click: sql`hot.click_event`,
  bounce: sql`hot.bounce_event`,
  feedback: sql`hot.feedback_event`,
  unsubscribe: sql`hot.unsubscribe_event`,
};

interface EventWindow {
  readonly log: Exclude<CampaignLog, 'tracking'>;
  readonly position: EventPosition;
  readonly limit: number;
}

/** The limit on the time alone selects partitions; the comparison of both continues within one time. */
function eventsAfter(campaign: LoggedCampaign, { log, position, limit }: EventWindow): Sql {
  const [at, until] = [timeOf(position.micros), timeOf(position.until)];
  return sql`
    SELECT to_char(e.at, 'YYYY-MM-DD HH24:MI:SS') AS time, (extract(epoch FROM e.at) * 1000000)::bigint AS micros, e.id,
           e.recipient_id AS "subscriberId", s.email, jsonb_build_array(${EVENT_COLUMNS[log]}) AS cells
      FROM (SELECT * FROM ${EVENT_TABLES[log]} e
             WHERE e.customer_id = ${campaign.customerId} AND e.source_kind = ${CAMPAIGN} AND e.source_id = ${campaign.id} AND e.at >= ${at} AND e.at <= ${until}
               AND (e.at, e.id) > (${at}, ${position.id}::bigint)
             ORDER BY e.at, e.id LIMIT ${limit}) e
      LEFT JOIN subscriber s ON s.customer_id = ${campaign.customerId} AND s.list_id = ${campaign.listId} AND s.id = e.recipient_id
     ORDER BY e.at, e.id`;
}

/** A time as a parameter, to the microsecond: a time that the statement computes would tell the planner nothing of its size. */
function timeOf(micros: bigint): Sql {
  const [seconds, fraction] = [micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND];
  const second = new Date(Number(seconds) * 1_000).toISOString().slice(0, -'.000Z'.length);
  return sql`${`${second}.${String(fraction).padStart(6, '0')}Z`}::timestamptz`;
}

async function newPosition(db: Queryable): Promise<EventPosition> {
  const [row] = await db.query({ until: 'bigint' }, sql`SELECT (extract(epoch FROM now()) * 1000000)::bigint AS until`);
  return { until: row?.until ?? 0n, micros: 0n, id: 0n };
}

function eventPosition(cursor: string): EventPosition {
  const [, until, micros, id] = /^(\d{1,17})\.(\d{1,17})\.(\d{1,18})$/.exec(cursor) ?? [];
  if (until === undefined || micros === undefined || id === undefined) throw noCursor();
  return { until: BigInt(until), micros: BigInt(micros), id: BigInt(id) };
}

function trackingPosition(cursor: string): bigint {
  if (!/^\d{1,18}$/.test(cursor)) throw noCursor();
  return BigInt(cursor);
}

function noCursor(): ValidationError {
  return new ValidationError({ after: ['This cursor does not belong to this log.'] });
}

/** An erased person's rows are kept for the sums, with number 0. */
function headOf(
  { uid }: LoggedCampaign,
  { time, subscriberId, email }: { time: string; subscriberId: bigint; email: string | null },
): LogCell[] {
  return [time, uid, subscriberId > 0n ? subscriberUid(subscriberId) : null, email];
}
