/**
 * The sets of people that conditions of a rule need (who opened, clicked, received or confirmed), as SELECTs that are read once
 * per statement. Each reads by the leading columns of a primary key: customer, campaigns, range of people. Sets are SELECTs of
 * `block` and `members`: the 2,048 bits of the people whose ids begin so (id >> 11). Who did something, how often, and who
 * received a campaign is stored as such bits (decision record 0071); for campaigns without them, and for blocks with later
 * activity, a person's row about a campaign is read. Both give the same result for the same moment. Events are not read.
 */
import { empty, sql, type Sql } from '../../../db/database.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { contains } from './condition-read-model.ts';
import { questionKey } from './plugin-condition.ts';
import { UnavailableConditionError } from './segment-errors.ts';
import type {
  CampaignChoice,
  Condition,
  OpenedCondition,
  PluginCondition,
  ReceivedCondition,
  RuleScope,
} from './segment.ts';

/** Ids per row are 2 to this power: the same number as in the functions and triggers that write the bits. */
const BLOCK_BITS = 11;
/** Activity per campaign is stored in smaller rows. */
const ACTIVITY_BLOCK_BITS = 9;

/**
 * The person's bit in these members of the person's block, as a condition that is never null; `otherwise` if the block has no
 * row.
 */
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

/** The meaning of `open` and `click` of `GET /subscribers`: also for deleted campaigns. */
function everDid(kind: 'opened' | 'clicked', scope: RuleScope): Sql {
  const members = kind === 'opened' ? sql`b.opened` : sql`b.clicked`;
  return sql`SELECT b.block, ${members} AS members FROM hot.list_activity_block b
    WHERE b.customer_id = ${scope.customerId} AND b.list_id = ${scope.listId} ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}`;
}

interface Act {
  readonly kind: 'opened' | 'clicked';
  readonly campaigns?: CampaignChoice | undefined;
}

/** People who did it with one of the campaigns. */
function didAtAll({ kind, campaigns, peopleOnly }: Act & { readonly peopleOnly: boolean }, scope: RuleScope): Sql {
  const human = kind === 'opened' ? sql`b.human_opened` : sql`b.human_clicked`;
  return sql`SELECT b.block >> 2 AS block, bit_or(${widened(peopleOnly ? human : membersOf(kind))}) AS members
    FROM hot.campaign_activity_block b WHERE ${ofCampaigns(campaigns, scope)} GROUP BY 1`;
}

/**
 * People whose last time with one of the campaigns is within these days. For blocks whose last activity is in them the bits are
 * enough, and blocks without any activity need nothing; for the others, and for a day that is not over, rows are read.
 */
function didSince({ kind, campaigns, inLastDays }: Act & { readonly inLastDays: number }, scope: RuleScope): Sql {
  // An open that is known only by a click has no time of its own.
  const last = kind === 'opened' ? sql`coalesce(a.last_open_at, a.last_click_at)` : sql`a.last_click_at`;
  const count = kind === 'opened' ? sql`a.open_count` : sql`a.click_count`;
  const [from, to] = [
    sql`${daysBefore(scope, inLastDays)}::timestamptz`,
    sql`${scope.asOf.toISOString()}::timestamptz`,
  ];
  // The counter contains the time of the campaign's last activity.
  const isOver = sql`(b.last_on < (${to} AT TIME ZONE 'UTC')::date OR coalesce((SELECT greatest(t.last_open_at, t.last_click_at)
    FROM hot.tracking_counter t WHERE t.customer_id = b.customer_id AND t.source_kind = ${SOURCE_KINDS.campaign} AND t.source_id = b.campaign_id) <= ${to}, false))`;
  return sql`SELECT f.block >> 2 AS block, bit_or(${widened(sql`f.members`, sql`f.block`)}) AS members FROM (
    SELECT b.block, CASE WHEN b.first_at >= ${from} AND ${isOver} THEN ${membersOf(kind)} ELSE (
      SELECT bit_or(hot.person_bit_of_512(a.recipient_id)) FROM hot.recipient_activity a
       WHERE a.customer_id = b.customer_id AND a.source_kind = ${SOURCE_KINDS.campaign} AND a.source_id = b.campaign_id
         AND a.recipient_id BETWEEN b.block << ${ACTIVITY_BLOCK_BITS} AND (b.block << ${ACTIVITY_BLOCK_BITS}) + ${(1 << ACTIVITY_BLOCK_BITS) - 1}
         AND ${count} > 0 AND ${last} BETWEEN ${from} AND ${to}) END AS members
      FROM hot.campaign_activity_block b
     WHERE ${ofCampaigns(campaigns, scope)} AND b.last_on >= (${from} AT TIME ZONE 'UTC')::date
    -- Keeps the members from being made twice, once to see whether there are any.
    OFFSET 0) f
    WHERE f.members IS NOT NULL GROUP BY 1`;
}

/**
 * People for whom a receiving server accepted so many of the campaigns. For campaigns whose bits are not up to date (under way,
 * or finished a moment ago) the ledger itself is read.
 */
function received({ campaigns, atLeast = 1 }: ReceivedCondition, scope: RuleScope): Sql {
  const meant = campaignIds(campaigns, scope);
  const isKept = sql`EXISTS (SELECT 1 FROM hot.received_campaign r
      JOIN hot.delivery_counter n ON n.customer_id = r.customer_id AND n.source_kind = ${SOURCE_KINDS.campaign} AND n.source_id = r.campaign_id AND n.sent = r.people
     WHERE r.customer_id = ${scope.customerId} AND r.campaign_id = c.id OFFSET 0)`;
  const kept = sql`ARRAY(SELECT c.id FROM unnest(${meant}) AS c (id) WHERE ${isKept})`;
  const others = sql`ARRAY(SELECT c.id FROM unnest(${meant}) AS c (id) WHERE NOT ${isKept})`;
  const ids = scope.ids ? sql`AND d.recipient_id BETWEEN ${scope.ids.from} AND ${scope.ids.to}` : empty;
  const members = atLeast === 1 ? sql`bit_or(m.members)` : sql`hot.bits_in_at_least(array_agg(m.members), ${atLeast})`;
  return sql`SELECT m.block, ${members} AS members FROM (
    SELECT b.block, b.members FROM hot.received_block b
     WHERE b.customer_id = ${scope.customerId} AND b.campaign_id = ANY (${kept}) ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}
    UNION ALL
    SELECT w.no >> 5, bit_or(hot.word_bits(w.no, w.word)) FROM campaign c
      -- One campaign after the other, by its month: as one condition the planner reads the whole ledger, even for none.
      CROSS JOIN LATERAL (
        SELECT d.recipient_id >> 6 AS no, bit_or(1::bigint << (63 - (d.recipient_id & 63))::integer) AS word
          FROM hot.delivery d
         WHERE d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.source_kind = ${SOURCE_KINDS.campaign} AND d.source_id = c.id ${ids} AND d.state = 'sent'
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

/** The bits of a small row at their position in a large one. */
function widened(members: Sql, block: Sql = sql`b.block`): Sql {
  return sql`${members}::bit(2048) >> (512 * (${block} & 3))::integer`;
}

function blockInRange(block: Sql, { ids }: RuleScope, bits: number): Sql {
  return ids ? sql`AND ${block} BETWEEN ${ids.from}::bigint >> ${bits} AND ${ids.to}::bigint >> ${bits}` : empty;
}

/** The kinds of counts, as in `kind` of hot.campaign_count_block. */
export type CountKind = 'opens' | 'clicks' | 'human_opens' | 'human_clicks';

/**
 * The count of a row `a` of hot.recipient_activity. Human opens as in the statistics: a person who read without loading the pixel
 * has opened once, known by the click. `open_count` stays 0 where opens are not tracked.
 */
export const COUNTS: Readonly<Record<CountKind, Sql>> = {
  opens: sql`a.open_count`,
  clicks: sql`a.click_count`,
  human_opens: sql`greatest(a.human_opens, (a.human_clicks > 0 AND a.open_count > 0)::integer)`,
  human_clicks: sql`a.human_clicks`,
};

/** Binary digits of a number above 0: one more than needed where the logarithm is not exact. */
export function placesOf(count: Sql): Sql {
  return sql`generate_series(0, floor(ln(${count}::float8) / ln(2::float8))::integer + 1)`;
}

/** The bits of people in words of 64, as rows of one word are combined: group by `recipient_id >> 6`. */
export const WORD = sql`bit_or(1::bigint << (63 - (a.recipient_id & 63))::integer)`;

/** People who opened or clicked these campaigns so many times in all. */
function didOften(
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
          SELECT a.recipient_id >> 6 AS no, p.digit::smallint AS digit, ${WORD} AS word
            FROM hot.recipient_activity a CROSS JOIN LATERAL ${placesOf(count)} AS p (digit)
           WHERE a.customer_id = ${scope.customerId} AND a.source_kind = ${SOURCE_KINDS.campaign} AND a.source_id = u.campaign_id AND a.recipient_id BETWEEN u.from_id AND u.to_id
             ${inRange(sql`a.recipient_id`, scope)} AND ${count} > 0 AND ${count} >> p.digit & 1 = 1
           GROUP BY 1, 2 OFFSET 0) w
       GROUP BY u.campaign_id, w.no >> 5, w.digit) m
    GROUP BY m.block`;
}

/** People who clicked a link of these campaigns whose address contains this. */
function clickedLink(campaigns: CampaignChoice | undefined, part: string, scope: RuleScope): Sql {
  return sql`WITH ${unkept(campaigns, scope)}, link AS MATERIALIZED (
      SELECT l.source_id AS campaign_id, l.link_no FROM hot.link_counter l
       WHERE l.customer_id = ${scope.customerId} AND l.source_kind = ${SOURCE_KINDS.campaign} AND l.source_id = ANY (${campaignIds(campaigns, scope)})
         AND ${contains(sql`hot.fold(l.url)`, part)})
    SELECT m.block, bit_or(m.members) AS members FROM (
      SELECT b.block, b.members FROM hot.campaign_link_block b
       WHERE ${isKept(campaigns, scope)} AND (b.campaign_id, b.link_no) IN (SELECT l.campaign_id, l.link_no FROM link l)
      UNION ALL
      SELECT w.no >> 5, bit_or(hot.word_bits(w.no, w.word)) FROM unkept u JOIN link l ON l.campaign_id = u.campaign_id
        CROSS JOIN LATERAL (
          SELECT a.recipient_id >> 6 AS no, ${WORD} AS word FROM hot.recipient_link a
           WHERE a.customer_id = ${scope.customerId} AND a.source_kind = ${SOURCE_KINDS.campaign} AND a.source_id = l.campaign_id AND a.link_no = l.link_no
             AND a.recipient_id BETWEEN u.from_id AND u.to_id ${inRange(sql`a.recipient_id`, scope)}
           GROUP BY 1 OFFSET 0) w
       GROUP BY w.no >> 5) m
    GROUP BY m.block`;
}

/** Beyond all ids (they are below 2^52). */
const ID_MAX = 2n ** 62n;

/**
 * The ranges of people whose rows are read: all of a campaign without bits, and blocks with later activity. Blocks of
 * hot.campaign_activity_block are a quarter of these.
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

/** The row `b` of bits is of these campaigns, and up to date. */
function isKept(campaigns: CampaignChoice | undefined, scope: RuleScope): Sql {
  return sql`b.customer_id = ${scope.customerId} AND b.campaign_id = ANY (${campaignIds(campaigns, scope)})
    ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}
    AND (b.campaign_id, b.block) NOT IN (SELECT u.campaign_id, u.from_id >> ${BLOCK_BITS} FROM unkept u)
    AND b.campaign_id NOT IN (SELECT u.campaign_id FROM unkept u WHERE u.to_id = ${ID_MAX}::bigint)`;
}

const DAY_MS = 86_400_000;

/** The chosen campaigns, as an array that is made first: only those of the caller's own list. */
function campaignIds(choice: CampaignChoice | undefined, scope: RuleScope): Sql {
  const own = sql`FROM campaign c WHERE c.customer_id = ${scope.customerId} AND c.list_id = ${scope.listId}`;
  const except = scope.exceptCampaignId === undefined ? empty : sql`AND c.id <> ${scope.exceptCampaignId}`;
  // At that moment: a campaign that is started during another's snapshot does not change "the last three".
  const started = sql`AND c.started_at <= ${scope.asOf.toISOString()}::timestamptz ${except}`;
  if (choice === undefined) return sql`ARRAY(SELECT c.id ${own} ${started})`;
  if ('uids' in choice) return sql`ARRAY(SELECT c.id ${own} AND c.uid = ANY (${[...choice.uids]}::text[]))`;
  if ('last' in choice)
    return sql`ARRAY(SELECT c.id ${own} ${started} ORDER BY c.started_at DESC, c.id DESC LIMIT ${choice.last})`;
  return sql`ARRAY(SELECT c.id ${own} ${started} AND c.started_at >= ${daysBefore(scope, choice.startedInLastDays)}::timestamptz)`;
}

export function daysBefore({ asOf }: RuleScope, days: number): string {
  return new Date(asOf.getTime() - days * DAY_MS).toISOString();
}

export function inRange(column: Sql, { ids }: RuleScope): Sql {
  return ids ? sql`AND ${column} BETWEEN ${ids.from} AND ${ids.to}` : empty;
}

/** People for whom a plugin's condition holds, as it has answered. Throws UnavailableConditionError when there is no answer. */
function answered(condition: PluginCondition, scope: RuleScope): Sql {
  const answerId = scope.answers?.get(questionKey(condition));
  if (answerId === undefined)
    throw new UnavailableConditionError({ plugin: condition.plugin, condition: condition.name, cause: 'lost' });
  return sql`SELECT b.block, b.members FROM hot.segment_answer_block b
    WHERE b.customer_id = ${scope.customerId} AND b.list_id = ${scope.listId} AND b.answer_id = ${answerId} ${blockInRange(sql`b.block`, scope, BLOCK_BITS)}`;
}

/** Conditions about sets of bits. */
export type BitCondition = Extract<
  Condition,
  { opened: unknown } | { clicked: unknown } | { received: unknown } | { pluginCondition: unknown }
>;

/** The people of the condition, as a SELECT of `block` and `members`, each block once. */
export function compileSet(condition: BitCondition, scope: RuleScope): Sql {
  if ('pluginCondition' in condition) return answered(condition.pluginCondition, scope);
  if ('received' in condition) return received(condition.received, scope);
  if ('opened' in condition) return did('opened', condition.opened, scope);
  const { campaigns, linkContains } = condition.clicked;
  if (linkContains !== undefined) return clickedLink(campaigns, linkContains, scope);
  return did('clicked', condition.clicked, scope);
}

function did(kind: 'opened' | 'clicked', condition: OpenedCondition, scope: RuleScope): Sql {
  const { campaigns, inLastDays, atLeast = 1, peopleOnly = false } = condition;
  if (atLeast > 1) return didOften({ kind, campaigns, atLeast, peopleOnly }, scope);
  const isEver = campaigns === undefined && inLastDays === undefined && !peopleOnly;
  if (isEver) return everDid(kind, scope);
  if (inLastDays !== undefined) return didSince({ kind, campaigns, inLastDays }, scope);
  return didAtAll({ kind, campaigns, peopleOnly }, scope);
}

/** When people last confirmed: `id`, each person once, and `at`. */
export function confirmations(scope: RuleScope): Sql {
  return sql`SELECT e.subscriber_id AS id, max(e.at) AS at FROM consent_event e
    WHERE e.customer_id = ${scope.customerId} AND e.list_id = ${scope.listId} ${inRange(sql`e.subscriber_id`, scope)}
      AND e.status = 'subscribed' AND e.source = 'confirmation'
    GROUP BY e.subscriber_id`;
}
