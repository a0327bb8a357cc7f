/**
 * Writes opens and clicks: events, what each recipient did, and every counter beside them, in one statement for a
 * whole batch, so that no screen ever counts rows. Events of campaigns or people that are gone leave no trace.
 *
 * What counts. Every display of the pixel is an open. A click is counted unless a machine looked ahead (HEAD,
 * prefetch); such a click is kept as an event. A click proves reading: a recipient whose pixel was blocked is counted
 * as having opened once, where the campaign counts opens at all.
 */
import type { Context } from '../context.ts';
import { sql, type Sql } from '../../db/database.ts';
import { announceCampaignChange, type CampaignKey } from '../statistics/announce-campaign-change.ts';
import { CHANGE, COUNTERS, EVENTS } from './activity-sql.ts';
import type { TrackedRecipient, Visitor } from './tracking.ts';

/** One open, or one click when `linkNo` is there. */
export interface Activity {
  readonly recipient: TrackedRecipient;
  readonly visitor: Visitor;
  readonly linkNo: number | null;
  readonly url: string | null;
}

/** Records a batch in one transaction, then tells the live statistics. At most a few hundred at a time. */
export async function recordActivity(ctx: Context, batch: readonly Activity[]): Promise<void> {
  const campaigns = await ctx.db.query<{ customer_id: bigint; id: bigint }>(statement(batch), 'tracking.record');
  for (const { customer_id, id } of campaigns) announce(ctx, { customerId: customer_id, campaignId: id });
}

function announce(ctx: Context, campaign: CampaignKey): void {
  if (ctx.tx) ctx.tx.afterCommit(() => announceCampaignChange(ctx, campaign));
  else announceCampaignChange(ctx, campaign);
}

function statement(batch: readonly Activity[]): Sql {
  const of = <Value>(value: (activity: Activity) => Value): Value[] => batch.map(value);
  return sql`
WITH given AS (
  SELECT * FROM unnest(
    ${of(({ recipient }) => recipient.customerId)}::bigint[], ${of(({ recipient }) => recipient.listId)}::bigint[],
    ${of(({ recipient }) => recipient.campaignId)}::bigint[], ${of(({ recipient }) => recipient.subscriberId)}::bigint[],
    ${of(({ linkNo }) => linkNo)}::integer[], ${of(({ url }) => url)}::text[],
    ${of(({ visitor }) => visitor.isMachine)}::boolean[], ${of(({ visitor }) => visitor.looksAhead)}::boolean[],
    ${of(({ visitor }) => visitor.ip)}::text[], ${of(({ visitor }) => visitor.userAgent)}::text[]
  ) AS e (customer_id, list_id, campaign_id, subscriber_id, link_no, url, is_machine, looks_ahead, ip, user_agent)
), ${CHANGE}, ${EVENTS}, ${COUNTERS}
SELECT customer_id, campaign_id AS id FROM campaigns`;
}
