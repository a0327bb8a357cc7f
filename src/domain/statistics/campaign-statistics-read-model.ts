/**
 * The figures of campaigns, read from counters that are updated with every event; no rows are counted here. Names and meanings
 * are those of specification 2.4 and decision D23.
 */
import type { Context } from '../context.ts';
import { sql, row, type RowOf } from '../../db/database.ts';
import type { CampaignKey } from './campaign-key.ts';
import { CAMPAIGN } from './source-read-model.ts';
import { rate } from './rate.ts';

/** One campaign's figures. Rates are fractions 0..1 of what was delivered, rounded to four places. */
export interface CampaignStatistics {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  /** The campaign's status; null when it is deleted. */
  readonly status: string | null;
  /** The size of the campaign's audience. */
  readonly subscriberCount: number;
  /** Accepted by a receiving server and not bounced since. */
  readonly deliveredCount: number;
  readonly deliveredRate: number;
  /** humanOpenCount + machineOpenCount + impliedOpenCount (decision D63). */
  readonly openCount: number;
  /** People who opened at least once (or clicked, which proves it). */
  readonly uniqOpenCount: number;
  readonly uniqOpenRate: number;
  readonly lastOpen: Date | null;
  readonly clickCount: number;
  /** People who clicked at least once. */
  readonly uniqClickCount: number;
  /** People who clicked, of those delivered to. */
  readonly clickRate: number;
  /** People who clicked, of those who opened. */
  readonly clickPerUniqOpen: number;
  readonly lastClick: Date | null;
  /**
   * Figures for people without machines, as far as they can be distinguished; the figures above include both (decision record
   * 0074).
   */
  /** Displays by people. */
  readonly humanOpenCount: number;
  /** People whose message was displayed, or who clicked. */
  readonly humanUniqOpenCount: number;
  readonly humanUniqOpenRate: number;
  readonly humanClickCount: number;
  readonly humanUniqClickCount: number;
  readonly humanClickRate: number;
  /** Displays by programs: privacy proxies, scanners. */
  readonly machineOpenCount: number;
  /** Opens that are known by a click only: one at most for each person. */
  readonly impliedOpenCount: number;
  readonly machineClickCount: number;
  readonly bounceCount: number;
  readonly abuseFeedbackCount: number;
  readonly unsubscribeCount: number;
  /** The ledger's states: subscriberCount is always the sum of these six (decision D54). */
  readonly pendingCount: number;
  readonly sentCount: number;
  readonly failedCount: number;
  readonly skippedCount: number;
  readonly suppressedCount: number;
  readonly unknownCount: number;
}

const COUNTER_ROW = row({
  customer_id: 'bigint',
  campaign_id: 'bigint',
  status: 'text?',
  audience: 'int',
  open: 'int',
  sent: 'int',
  failed: 'int',
  skipped: 'int',
  suppressed: 'int',
  unknown: 'int',
  open_count: 'int',
  uniq_open_count: 'int',
  click_count: 'int',
  uniq_click_count: 'int',
  unsubscribe_count: 'int',
  bounce_count: 'int',
  refused_bounce_count: 'int',
  abuse_feedback_count: 'int',
  human_open_count: 'int',
  human_uniq_open_count: 'int',
  human_click_count: 'int',
  human_uniq_click_count: 'int',
  machine_open_count: 'int',
  last_open_at: 'timestamptz?',
  last_click_at: 'timestamptz?',
});
type CounterRow = RowOf<typeof COUNTER_ROW>;

/** The figures of these campaigns, in order; zeros for one that has not begun. One statement for all. */
export async function readCampaignStatistics(
  ctx: Pick<Context, 'db'>,
  keys: readonly CampaignKey[],
): Promise<CampaignStatistics[]> {
  const rows = await ctx.db.query(
    COUNTER_ROW,
    sql`SELECT k.customer_id, k.campaign_id, c.status,
               coalesce(d.audience, 0) AS audience, coalesce(d.open, 0) AS open, coalesce(d.sent, 0) AS sent,
               coalesce(d.failed, 0) AS failed, coalesce(d.skipped, 0) AS skipped, coalesce(d.suppressed, 0) AS suppressed,
               coalesce(d.unknown, 0) AS unknown, coalesce(t.open_count, 0) AS open_count,
               coalesce(t.uniq_open_count, 0) AS uniq_open_count, coalesce(t.click_count, 0) AS click_count,
               coalesce(t.uniq_click_count, 0) AS uniq_click_count, coalesce(t.unsubscribe_count, 0) AS unsubscribe_count,
               coalesce(t.bounce_count, 0) AS bounce_count, coalesce(t.refused_bounce_count, 0) AS refused_bounce_count, coalesce(t.abuse_feedback_count, 0) AS abuse_feedback_count,
               coalesce(t.human_open_count, 0) AS human_open_count, coalesce(t.human_uniq_open_count, 0) AS human_uniq_open_count,
               coalesce(t.human_click_count, 0) AS human_click_count, coalesce(t.human_uniq_click_count, 0) AS human_uniq_click_count,
               coalesce(t.machine_open_count, 0) AS machine_open_count, t.last_open_at, t.last_click_at
          FROM unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
               WITH ORDINALITY AS k (customer_id, campaign_id, no)
          LEFT JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.campaign_id
          LEFT JOIN hot.delivery_counter d ON d.customer_id = k.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = k.campaign_id
          LEFT JOIN hot.tracking_counter t ON t.customer_id = k.customer_id AND t.source_kind = ${CAMPAIGN} AND t.source_id = k.campaign_id
         ORDER BY k.no`,
    'statistics.campaigns',
  );
  return rows.map(statisticsOf);
}

function statisticsOf(row: CounterRow): CampaignStatistics {
  // A message that was refused at delivery was never sent.
  const deliveredCount = Math.max(row.sent - (row.bounce_count - row.refused_bounce_count), 0);
  return {
    customerId: row.customer_id,
    campaignId: row.campaign_id,
    status: row.status,
    subscriberCount: row.audience,
    deliveredCount,
    deliveredRate: rate(deliveredCount, row.audience),
    openCount: row.open_count,
    uniqOpenCount: row.uniq_open_count,
    uniqOpenRate: rate(row.uniq_open_count, deliveredCount),
    lastOpen: row.last_open_at,
    clickCount: row.click_count,
    uniqClickCount: row.uniq_click_count,
    clickRate: rate(row.uniq_click_count, deliveredCount),
    clickPerUniqOpen: rate(row.uniq_click_count, row.uniq_open_count),
    lastClick: row.last_click_at,
    humanOpenCount: row.human_open_count,
    humanUniqOpenCount: row.human_uniq_open_count,
    humanUniqOpenRate: rate(row.human_uniq_open_count, deliveredCount),
    humanClickCount: row.human_click_count,
    humanUniqClickCount: row.human_uniq_click_count,
    humanClickRate: rate(row.human_uniq_click_count, deliveredCount),
    machineOpenCount: row.machine_open_count,
    impliedOpenCount: row.open_count - row.human_open_count - row.machine_open_count,
    machineClickCount: row.click_count - row.human_click_count,
    bounceCount: row.bounce_count,
    abuseFeedbackCount: row.abuse_feedback_count,
    unsubscribeCount: row.unsubscribe_count,
    pendingCount: row.open,
    sentCount: row.sent,
    failedCount: row.failed,
    skippedCount: row.skipped,
    suppressedCount: row.suppressed,
    unknownCount: row.unknown,
  };
}
