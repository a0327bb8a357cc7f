/**
 * How often people opened and clicked a campaign, and who clicked which link, as bits (hot.campaign_count_block,
 * hot.campaign_link_block), and up to which day they are valid (hot.counted_campaign). Segments see by the day of the last
 * activity in each block which of it is out of date.
 */
import { join, sql, row, type Queryable, type Transaction, type RowOf } from '../../../db/database.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { COUNTS, placesOf, WORD, type CountKind } from './people-set-read-model.ts';

/**
 * Rows that are being written now are not seen, and have the time at which their transaction began. Transactions that write opens
 * and clicks last some seconds, never this long.
 */
const TRANSACTION_HOURS_MAX = 1;
/** Blocks with activity on this day or later are out of date. */
const COUNTED_ON = sql`((now() - make_interval(hours => ${TRANSACTION_HOURS_MAX})) AT TIME ZONE 'UTC')::date`;
const KINDS: readonly CountKind[] = ['opens', 'clicks', 'human_opens', 'human_clicks'];

const CAMPAIGN_TO_COUNT_ROW = row({
  customerId: 'bigint',
  campaignId: 'bigint',
});
export type CampaignToCount = RowOf<typeof CAMPAIGN_TO_COUNT_ROW>;

/** Campaigns with at least so many openers or clickers whose bits are due, the newest first. */
export function campaignsToCount(db: Queryable, peopleMin: number): Promise<CampaignToCount[]> {
  return db.query(
    CAMPAIGN_TO_COUNT_ROW,
    sql`
    SELECT t.customer_id AS "customerId", t.source_id AS "campaignId"
      FROM hot.tracking_counter t
      JOIN campaign c ON t.source_kind = ${SOURCE_KINDS.campaign} AND c.customer_id = t.customer_id AND c.id = t.source_id
      LEFT JOIN hot.counted_campaign k ON k.customer_id = t.customer_id AND k.campaign_id = t.source_id
     WHERE greatest(t.uniq_open_count, t.uniq_click_count) >= ${peopleMin} AND (c.started_at AT TIME ZONE 'UTC')::date < ${COUNTED_ON}
       AND (k.counted_on IS NULL OR (k.counted_on < ${COUNTED_ON}
            AND (greatest(t.last_open_at, t.last_click_at) AT TIME ZONE 'UTC')::date >= k.counted_on))
     ORDER BY c.started_at DESC, c.id DESC`,
  );
}

/** Makes the bits of a campaign. They and their day are of one moment, or the day is earlier. */
export async function countCampaign(tx: Transaction, { customerId, campaignId }: CampaignToCount): Promise<void> {
  // Two processes at the same time: the second waits, and finds the rows of the first.
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`mailwright:counts:${campaignId}`}, 0))`);
  // A campaign that is deleted meanwhile would leave its bits behind.
  const alive = await tx.execute(
    sql`SELECT 1 FROM campaign WHERE customer_id = ${customerId} AND id = ${campaignId} FOR KEY SHARE`,
  );
  if (alive === 0) return;
  const own = sql`a.customer_id = ${customerId} AND a.campaign_id = ${campaignId}`;
  const rows = sql`a.customer_id = ${customerId} AND a.source_kind = ${SOURCE_KINDS.campaign} AND a.source_id = ${campaignId}`;
  await tx.execute(sql`DELETE FROM hot.campaign_count_block a WHERE ${own}`);
  await tx.execute(sql`DELETE FROM hot.campaign_link_block a WHERE ${own}`);
  const counts = KINDS.map((kind) => sql`(${kind}, ${COUNTS[kind]})`);
  await tx.execute(sql`
    WITH word AS (
      SELECT n.kind, p.digit, a.recipient_id >> 6 AS no, ${WORD} AS word
        FROM hot.recipient_activity a CROSS JOIN LATERAL (VALUES ${join(counts, ', ')}) AS n (kind, count)
        CROSS JOIN LATERAL ${placesOf(sql`n.count`)} AS p (digit)
       WHERE ${rows} AND n.count > 0 AND n.count >> p.digit & 1 = 1 GROUP BY 1, 2, 3
    ), counted AS (
      INSERT INTO hot.campaign_count_block (customer_id, campaign_id, kind, block, digit, members)
      SELECT ${customerId}::bigint, ${campaignId}::bigint, kind, no >> 5, digit, bit_or(hot.word_bits(no, word)) FROM word GROUP BY kind, no >> 5, digit
    ), linked AS (
      INSERT INTO hot.campaign_link_block (customer_id, campaign_id, link_no, block, members)
      SELECT ${customerId}::bigint, ${campaignId}::bigint, link_no, no >> 5, bit_or(hot.word_bits(no, word))
        FROM (SELECT a.link_no, a.recipient_id >> 6 AS no, ${WORD} AS word FROM hot.recipient_link a WHERE ${rows} GROUP BY 1, 2) w
       GROUP BY link_no, no >> 5
    )
    INSERT INTO hot.counted_campaign AS k (customer_id, campaign_id, counted_on) VALUES (${customerId}, ${campaignId}, ${COUNTED_ON})
    ON CONFLICT (customer_id, campaign_id) DO UPDATE SET counted_on = excluded.counted_on`);
}
