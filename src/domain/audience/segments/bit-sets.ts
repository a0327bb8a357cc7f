/**
 * Sets of people that are kept as bits (decision record 0071), as a SELECT of `block` and `members`: the 2,048 bits of
 * the people whose ids begin so (id >> 11). They say the same as the rows of the people do, for the same moment.
 */
import { empty, sql, type Sql } from '../../../db/database.ts';
import { campaignIds, daysBefore } from './rule-campaigns.ts';
import type { CampaignChoice, ReceivedCondition, RuleScope } from './segment.ts';

/** Ids per row are 2 to this: the same number as in the functions and triggers that keep the bits (migration `people_in_bits`). */
export const BLOCK_BITS = 11;
/** What people did with a campaign is kept in smaller rows. */
const ACTIVITY_BLOCK_BITS = 9;

/** The person's bit in these members of the person's block, as a condition that is never null; `otherwise` where the block has no row. */
export function hasBit(members: Sql, otherwise: boolean): Sql {
  return sql`coalesce(get_bit(${members}, (s.id & ${(1 << BLOCK_BITS) - 1})::integer) = 1, ${otherwise})`;
}

/** The block that the person `s` is in. */
export const blockOfPerson = sql`(s.id >> ${BLOCK_BITS})`;

/** The block of 64 people with the ids that begin with `no` (id >> 6), and their bits in it as a bigint. */
export function blockOfWord(no: Sql): Sql {
  return sql`(${no} >> ${BLOCK_BITS - 6})`;
}

export function wordOfBits(members: Sql, no: Sql): Sql {
  return sql`substring(${members} FROM ((${no} & ${(1 << (BLOCK_BITS - 6)) - 1}) * 64 + 1)::integer FOR 64)::bit(64)::bigint`;
}

/** What `open` and `click` of `GET /subscribers` mean: it outlives the campaigns. */
export function everDid(kind: 'opened' | 'clicked', scope: RuleScope): Sql {
  const members = kind === 'opened' ? sql`b.opened` : sql`b.clicked`;
  return sql`SELECT b.block, ${members} AS members FROM hot.list_activity_block b
    WHERE b.customer_id = ${scope.customerId} AND b.list_id = ${scope.listId} ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}`;
}

interface Act {
  readonly kind: 'opened' | 'clicked';
  readonly campaigns?: CampaignChoice | undefined;
}

/** Who did it with one of the campaigns. */
export function didAtAll(
  { kind, campaigns, peopleOnly }: Act & { readonly peopleOnly: boolean },
  scope: RuleScope,
): Sql {
  const human = kind === 'opened' ? sql`b.human_opened` : sql`b.human_clicked`;
  return sql`SELECT b.block >> 2 AS block, bit_or(${widened(peopleOnly ? human : membersOf(kind))}) AS members
    FROM hot.campaign_activity_block b WHERE ${ofCampaigns(campaigns, scope)} GROUP BY 1`;
}

/**
 * Whose last time with one of the campaigns lies in these days. Blocks that were active in them only need their bits, and
 * those that were not at all need nothing; of the others, and of a day that is not over, the rows are read.
 */
export function didSince(
  { kind, campaigns, inLastDays }: Act & { readonly inLastDays: number },
  scope: RuleScope,
): Sql {
  // An open that is known by a click only has no time of its own.
  const last = kind === 'opened' ? sql`coalesce(a.last_open_at, a.last_click_at)` : sql`a.last_click_at`;
  const count = kind === 'opened' ? sql`a.open_count` : sql`a.click_count`;
  const [from, to] = [
    sql`${daysBefore(scope, inLastDays)}::timestamptz`,
    sql`${scope.asOf.toISOString()}::timestamptz`,
  ];
  // The counter tells when anything was done with the campaign for the last time.
  const isOver = sql`(b.last_on < (${to} AT TIME ZONE 'UTC')::date OR coalesce((SELECT greatest(t.last_open_at, t.last_click_at)
    FROM hot.tracking_counter t WHERE t.customer_id = b.customer_id AND t.campaign_id = b.campaign_id) <= ${to}, false))`;
  return sql`SELECT f.block >> 2 AS block, bit_or(${widened(sql`f.members`, sql`f.block`)}) AS members FROM (
    SELECT b.block, CASE WHEN b.first_at >= ${from} AND ${isOver} THEN ${membersOf(kind)} ELSE (
      SELECT bit_or(hot.person_bit_of_512(a.subscriber_id)) FROM hot.recipient_activity a
       WHERE a.customer_id = b.customer_id AND a.campaign_id = b.campaign_id
         AND a.subscriber_id BETWEEN b.block << ${ACTIVITY_BLOCK_BITS} AND (b.block << ${ACTIVITY_BLOCK_BITS}) + ${(1 << ACTIVITY_BLOCK_BITS) - 1}
         AND ${count} > 0 AND ${last} BETWEEN ${from} AND ${to}) END AS members
      FROM hot.campaign_activity_block b
     WHERE ${ofCampaigns(campaigns, scope)} AND b.last_on >= (${from} AT TIME ZONE 'UTC')::date
    -- Keeps the members from being made twice, once to see whether there are any.
    OFFSET 0) f
    WHERE f.members IS NOT NULL GROUP BY 1`;
}

/**
 * Whom a receiving server accepted so many of the campaigns for. Of campaigns whose bits are not up to date (under way, or
 * finished a moment ago) the ledger itself is read.
 */
export function received({ campaigns, atLeast = 1 }: ReceivedCondition, scope: RuleScope): Sql {
  const meant = campaignIds(campaigns, scope);
  const isKept = sql`EXISTS (SELECT 1 FROM hot.received_campaign r
      JOIN hot.delivery_counter n ON n.customer_id = r.customer_id AND n.campaign_id = r.campaign_id AND n.sent = r.people
     WHERE r.customer_id = ${scope.customerId} AND r.campaign_id = c.id OFFSET 0)`;
  const kept = sql`ARRAY(SELECT c.id FROM unnest(${meant}) AS c (id) WHERE ${isKept})`;
  const others = sql`ARRAY(SELECT c.id FROM unnest(${meant}) AS c (id) WHERE NOT ${isKept})`;
  const ids = scope.ids ? sql`AND d.subscriber_id BETWEEN ${scope.ids.from} AND ${scope.ids.to}` : empty;
  const members = atLeast === 1 ? sql`bit_or(m.members)` : sql`hot.bits_in_at_least(array_agg(m.members), ${atLeast})`;
  return sql`SELECT m.block, ${members} AS members FROM (
    SELECT b.block, b.members FROM hot.received_block b
     WHERE b.customer_id = ${scope.customerId} AND b.campaign_id = ANY (${kept}) ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}
    UNION ALL
    SELECT w.no >> 5, bit_or(hot.word_bits(w.no, w.word)) FROM campaign c
      -- One campaign after the other, by its month: as one condition the planner reads the whole ledger, even for none.
      CROSS JOIN LATERAL (
        SELECT d.subscriber_id >> 6 AS no, bit_or(1::bigint << (63 - (d.subscriber_id & 63))::integer) AS word
          FROM hot.delivery d
         WHERE d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.campaign_id = c.id ${ids} AND d.state = 'sent'
         GROUP BY 1 OFFSET 0) w
     WHERE c.customer_id = ${scope.customerId} AND c.id = ANY (${others}) GROUP BY c.id, w.no >> 5) m
    GROUP BY m.block`;
}

function membersOf(kind: 'opened' | 'clicked'): Sql {
  return kind === 'opened' ? sql`b.opened` : sql`b.clicked`;
}

function ofCampaigns(campaigns: CampaignChoice | undefined, scope: RuleScope): Sql {
  return sql`b.customer_id = ${scope.customerId} AND b.campaign_id = ANY (${campaignIds(campaigns, scope)})
    ${blockInRange(sql`b.block`, scope, ACTIVITY_BLOCK_BITS)}`;
}

/** The bits of a small row at their place in a large one. */
function widened(members: Sql, block: Sql = sql`b.block`): Sql {
  return sql`${members}::bit(2048) >> (512 * (${block} & 3))::integer`;
}

export function blockInRange(block: Sql, { ids }: RuleScope, bits: number): Sql {
  return ids ? sql`AND ${block} BETWEEN ${ids.from}::bigint >> ${bits} AND ${ids.to}::bigint >> ${bits}` : empty;
}
