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
import type { Context } from '../context.ts';
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

/** Clicks of one recipient further apart than this are no run. */
const RUN_GAP_MS = 1_000;

/** Records a batch in one transaction, then tells the live statistics. At most a few hundred at a time. */
export async function recordActivity(ctx: Context, batch: readonly Activity[]): Promise<void> {
  for (const round of roundsOf(batch)) {
    const campaigns = await ctx.db.query<{ customer_id: bigint; id: bigint }>(statement(round), 'tracking.record');
    for (const { customer_id, id } of campaigns) announce(ctx, { customerId: customer_id, campaignId: id });
  }
}

/**
 * One statement takes all clicks of a recipient in it for one run. That is one round nearly always; only a batch that
 * waited long for its database has clicks of one person that are further apart.
 */
function roundsOf(batch: readonly Activity[]): readonly (readonly Activity[])[] {
  const last = new Map<bigint, { round: number; cameAt: number }>();
  const rounds: Activity[][] = [];
  for (const activity of batch) {
    const { linkNo, cameAt, recipient } = activity;
    const before = last.get(recipient.subscriberId);
    let round = before?.round ?? 0;
    if (linkNo !== null && cameAt !== undefined) {
      if (before && cameAt - before.cameAt > RUN_GAP_MS) round++;
      last.set(recipient.subscriberId, { round, cameAt });
    }
    (rounds[round] ??= []).push(activity);
  }
  return rounds;
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
SELECT customer_id, campaign_id AS id FROM campaigns`;
}
