/**
 * Sets of people by how often they opened or clicked, and by which link they clicked, as a SELECT of `block` and `members`
 * (see bit-sets.ts). Read from bits that a job keeps (refresh-counts.ts, decision record 0071); of campaigns without
 * them, and of blocks in which something has happened since they were made, from the rows of the people.
 */
import { sql, type Sql } from '../../../db/database.ts';
import { contains } from './compile-conditions.ts';
import { blockInRange, BLOCK_BITS } from './bit-sets.ts';
import { campaignIds, inRange } from './rule-campaigns.ts';
import type { CampaignChoice, OpenedCondition, RuleScope } from './segment.ts';

/** What is counted, by its name in `kind` of hot.campaign_count_block. */
export type CountKind = 'opens' | 'clicks' | 'human_opens' | 'human_clicks';

/**
 * The number of a row `a` of hot.recipient_activity. Human opens as the statistics count them: who read without loading
 * the pixel has opened once, known by the click. `open_count` stays 0 where opens are not tracked.
 */
export const COUNTS: Readonly<Record<CountKind, Sql>> = {
  opens: sql`a.open_count`,
  clicks: sql`a.click_count`,
  human_opens: sql`greatest(a.human_opens, (a.human_clicks > 0 AND a.open_count > 0)::integer)`,
  human_clicks: sql`a.human_clicks`,
};

/** Places of a number above 0: one more than needed where the logarithm is not exact. */
export function placesOf(count: Sql): Sql {
  return sql`generate_series(0, floor(ln(${count}::float8) / ln(2::float8))::integer + 1)`;
}

/** The bits of people in words of 64, as rows of one word are put together: beside `subscriber_id >> 6`. */
export const WORD = sql`bit_or(1::bigint << (63 - (a.subscriber_id & 63))::integer)`;

/** Who opened or clicked these campaigns so many times, all together. */
export function didOften(
  { kind, campaigns, atLeast = 1, peopleOnly = false }: OpenedCondition & { readonly kind: 'opened' | 'clicked' },
  scope: RuleScope,
): Sql {
  const what: CountKind =
    kind === 'opened' ? (peopleOnly ? 'human_opens' : 'opens') : peopleOnly ? 'human_clicks' : 'clicks';
  const count = COUNTS[what];
  return sql`WITH ${unkept(campaigns, scope)}
    SELECT m.block, hot.bits_that_reach(array_agg(m.members), array_agg(m.digit), ${atLeast}) AS members FROM (
      SELECT b.block, b.digit, b.members FROM hot.campaign_count_block b
       WHERE ${isKept(campaigns, scope)} AND b.kind = ${what}
      UNION ALL
      SELECT w.no >> 5, w.digit, bit_or(hot.word_bits(w.no, w.word)) FROM unkept u
        CROSS JOIN LATERAL (
          SELECT a.subscriber_id >> 6 AS no, p.digit::smallint AS digit, ${WORD} AS word
            FROM hot.recipient_activity a CROSS JOIN LATERAL ${placesOf(count)} AS p (digit)
           WHERE a.customer_id = ${scope.customerId} AND a.campaign_id = u.campaign_id AND a.subscriber_id BETWEEN u.from_id AND u.to_id
             ${inRange(sql`a.subscriber_id`, scope)} AND ${count} > 0 AND ${count} >> p.digit & 1 = 1
           GROUP BY 1, 2 OFFSET 0) w
       GROUP BY u.campaign_id, w.no >> 5, w.digit) m
    GROUP BY m.block`;
}

/** Who clicked a link of these campaigns whose address contains this. */
export function clickedLink(campaigns: CampaignChoice | undefined, part: string, scope: RuleScope): Sql {
  return sql`WITH ${unkept(campaigns, scope)}, link AS MATERIALIZED (
      SELECT l.campaign_id, l.link_no FROM hot.link_counter l
       WHERE l.customer_id = ${scope.customerId} AND l.campaign_id = ANY (${campaignIds(campaigns, scope)})
         AND ${contains(sql`hot.fold(l.url)`, part)})
    SELECT m.block, bit_or(m.members) AS members FROM (
      SELECT b.block, b.members FROM hot.campaign_link_block b
       WHERE ${isKept(campaigns, scope)} AND (b.campaign_id, b.link_no) IN (SELECT l.campaign_id, l.link_no FROM link l)
      UNION ALL
      SELECT w.no >> 5, bit_or(hot.word_bits(w.no, w.word)) FROM unkept u JOIN link l ON l.campaign_id = u.campaign_id
        CROSS JOIN LATERAL (
          SELECT a.subscriber_id >> 6 AS no, ${WORD} AS word FROM hot.recipient_link a
           WHERE a.customer_id = ${scope.customerId} AND a.campaign_id = l.campaign_id AND a.link_no = l.link_no
             AND a.subscriber_id BETWEEN u.from_id AND u.to_id ${inRange(sql`a.subscriber_id`, scope)}
           GROUP BY 1 OFFSET 0) w
       GROUP BY w.no >> 5) m
    GROUP BY m.block`;
}

/** Beyond all ids (they are below 2^52). */
const ID_MAX = 2n ** 62n;

/**
 * The ranges of people whose rows are read, as `unkept`: all of a campaign whose bits were never made, and the blocks
 * where something has happened since. Blocks of hot.campaign_activity_block are a quarter of these.
 */
function unkept(campaigns: CampaignChoice | undefined, scope: RuleScope): Sql {
  const meant = campaignIds(campaigns, scope);
  return sql`unkept AS MATERIALIZED (
      SELECT c.id AS campaign_id, 0::bigint AS from_id, ${ID_MAX}::bigint AS to_id FROM unnest(${meant}) AS c (id)
       WHERE NOT EXISTS (SELECT 1 FROM hot.counted_campaign k WHERE k.customer_id = ${scope.customerId} AND k.campaign_id = c.id)
      UNION ALL
      SELECT DISTINCT b.campaign_id, b.block >> 2 << ${BLOCK_BITS}, (b.block >> 2 << ${BLOCK_BITS}) + ${(1 << BLOCK_BITS) - 1}
        FROM hot.campaign_activity_block b
        JOIN hot.counted_campaign k ON k.customer_id = b.customer_id AND k.campaign_id = b.campaign_id AND b.last_on >= k.counted_on
       WHERE b.customer_id = ${scope.customerId} AND b.campaign_id = ANY (${meant}) ${blockInRange(sql`b.block >> 2`, scope, BLOCK_BITS)})`;
}

/** The row `b` of bits is of these campaigns, and is believed. */
function isKept(campaigns: CampaignChoice | undefined, scope: RuleScope): Sql {
  return sql`b.customer_id = ${scope.customerId} AND b.campaign_id = ANY (${campaignIds(campaigns, scope)})
    ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}
    AND (b.campaign_id, b.block) NOT IN (SELECT u.campaign_id, u.from_id >> ${BLOCK_BITS} FROM unkept u)
    AND b.campaign_id NOT IN (SELECT u.campaign_id FROM unkept u WHERE u.to_id = ${ID_MAX}::bigint)`;
}
