/**
 * Writes opens and clicks: events, what each recipient did, and every counter beside them, in one statement for a
 * whole batch, so that no screen ever counts rows. Events of campaigns or people that are gone leave no trace.
 *
 * What counts. Every display of the pixel is an open. A click is counted unless a machine looked ahead (HEAD,
 * prefetch); such a click is kept as an event. A click proves reading: a recipient whose pixel was blocked is counted
 * as having opened once, where the campaign counts opens at all.
 *
 * Beside those, what people did is counted apart (decision record 0074). A machine's are: what the visitor says of
 * itself or where it comes from (machine-visitor.ts), what comes sooner after the delivery than a person can, and
 * clicks of three different links (or of both, where a message has two), each within a second of another. The first
 * clicks of such a run were taken for a person's: they are marked afterwards, and the counters follow.
 */
import { inTransaction, type Context } from '../context.ts';
import { sql, type Sql } from '../../db/database.ts';
import { announceCampaignChange, type CampaignKey } from '../statistics/announce-campaign-change.ts';
import { COUNTERS } from './activity-counters-sql.ts';
import { CHANGE, EVENTS, SEEN } from './activity-sql.ts';
import type { TrackedRecipient, Visitor } from './tracking.ts';

/** One open, or one click when `linkNo` is there. */
export interface Activity {
  readonly recipient: TrackedRecipient;
  readonly visitor: Visitor;
  readonly linkNo: number | null;
  readonly url: string | null;
  /** When it came, by `performance.now()`; without it: now. The database's clock less its age is its time. */
  readonly cameAt?: number;
}

/** Records a batch in one transaction, then tells the live statistics. At most a few hundred at a time, split by `roundsOf`. */
export async function recordActivity(ctx: Context, batch: readonly Activity[]): Promise<void> {
  const rows = batch.some(({ linkNo }) => linkNo !== null) ? await writeClicks(ctx, batch) : await write(ctx, batch);
  for (const { customerId, campaignId, since } of rows) {
    if (since === null) announce(ctx, { customerId, campaignId });
  }
}

/** A campaign whose counters changed; or a recipient whose clicks since a time turned out to be a machine's. */
interface Written extends Record<string, unknown> {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly subscriberId: bigint | null;
  readonly since: Date | null;
}

function write({ db }: Pick<Context, 'db'>, batch: readonly Activity[]): Promise<Written[]> {
  return db.query<Written>(statement(batch), 'tracking.record');
}

/**
 * The events of a run are marked by a statement of their own: what another process has written while ours waited for
 * the recipient's row is not in the snapshot of ours.
 */
function writeClicks(ctx: Context, batch: readonly Activity[]): Promise<Written[]> {
  return inTransaction(ctx, async ({ db }) => {
    const rows = await write({ db }, batch);
    const runs = rows.filter(({ since }) => since !== null);
    if (runs.length > 0) await db.execute(marking(runs), 'tracking.mark_runs');
    return rows;
  });
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

function announce(ctx: Context, campaign: CampaignKey): void {
  if (ctx.tx) ctx.tx.afterCommit(() => announceCampaignChange(ctx, campaign));
  else announceCampaignChange(ctx, campaign);
}

function statement(batch: readonly Activity[]): Sql {
  const of = <Value>(value: (activity: Activity) => Value): Value[] => batch.map(value);
  const now = performance.now();
  return sql`
WITH given AS (
  SELECT customer_id, list_id, campaign_id, subscriber_id, link_no, url, is_machine, looks_ahead, ip, user_agent, country, region, city,
         now() - make_interval(secs => age) AS at
    FROM unnest(
    ${of(({ recipient }) => recipient.customerId)}::bigint[], ${of(({ recipient }) => recipient.listId)}::bigint[],
    ${of(({ recipient }) => recipient.campaignId)}::bigint[], ${of(({ recipient }) => recipient.subscriberId)}::bigint[],
    ${of(({ linkNo }) => linkNo)}::integer[], ${of(({ url }) => url)}::text[],
    ${of(({ visitor }) => visitor.isMachine)}::boolean[], ${of(({ visitor }) => visitor.looksAhead)}::boolean[],
    ${of(({ visitor }) => visitor.ip)}::text[], ${of(({ visitor }) => visitor.userAgent)}::text[],
    ${of(({ visitor }) => visitor.place?.country ?? null)}::text[], ${of(({ visitor }) => visitor.place?.region ?? null)}::text[],
    ${of(({ visitor }) => visitor.place?.city ?? null)}::text[], ${of(({ cameAt }) => Math.max(now - (cameAt ?? now), 0) / 1_000)}::float8[]
  ) AS e (customer_id, list_id, campaign_id, subscriber_id, link_no, url, is_machine, looks_ahead, ip, user_agent, country, region, city, age)
), ${SEEN}, ${CHANGE}, ${EVENTS}, ${COUNTERS}
SELECT customer_id AS "customerId", campaign_id AS "campaignId", NULL::bigint AS "subscriberId", NULL::timestamptz AS since FROM campaigns
UNION ALL
SELECT customer_id, campaign_id, subscriber_id, run_since FROM change WHERE takes_back`;
}
