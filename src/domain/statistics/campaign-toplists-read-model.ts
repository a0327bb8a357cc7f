/** The lists beside a campaign's figures (decision D23): its links, its most frequent openers, and their locations. */
import type { Context } from '../context.ts';
import { sql, row, type Sql } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { CampaignKey } from './campaign-key.ts';
import { CAMPAIGN } from './source-read-model.ts';

/** Both top lists hold ten (decision D23). */
export const TOP_LIST_LENGTH = 10;
/** As many links as a message may have (domain/content). */
const LINKS_MAX = 1_000;

export interface LinkStatistics {
  readonly url: string;
  readonly clickCount: number;
  readonly uniqClickCount: number;
  readonly lastClick: Date | null;
}

/** A row of a batch with the number of its campaign. */
type Numbered<Row> = Row & { readonly no: bigint };

export interface TopLocation {
  readonly country: string | null;
  readonly region: string | null;
  readonly city: string | null;
  readonly openCount: number;
}

export interface TopOpener {
  readonly subscriberUid: string;
  readonly email: string;
  readonly openCount: number;
}

const CAMPAIGN_LINK_ROW = row({
  url: 'text',
  clickCount: 'int',
  uniqClickCount: 'int',
  lastClick: 'timestamptz?',
  no: 'bigint',
});

/** Every link of each campaign in the order of its message, with its clicks. One statement for all campaigns. */
export async function readCampaignLinks(
  ctx: Pick<Context, 'db'>,
  keys: readonly CampaignKey[],
): Promise<LinkStatistics[][]> {
  const rows = await ctx.db.query(
    CAMPAIGN_LINK_ROW,
    sql`SELECT k.no, l.* FROM ${campaignsAskedFor(keys)}
         CROSS JOIN LATERAL (
           SELECT url, click_count AS "clickCount", uniq_click_count AS "uniqClickCount", last_click_at AS "lastClick"
             FROM hot.link_counter l WHERE l.customer_id = k.customer_id AND l.source_kind = ${CAMPAIGN} AND l.source_id = k.campaign_id
            ORDER BY link_no LIMIT ${LINKS_MAX}) l`,
    'statistics.links',
  );
  return byCampaign(keys, rows, ({ url, clickCount, uniqClickCount, lastClick }) => ({
    url,
    clickCount,
    uniqClickCount,
    lastClick,
  }));
}

/**
 * Where opens came from, at most ten places per campaign, the most frequent first. Unknown places are one place; without an open
 * there is none.
 */
export async function readTopLocations(
  ctx: Pick<Context, 'db'>,
  keys: readonly CampaignKey[],
): Promise<TopLocation[][]> {
  // Places of many opens have an index of their own; the others are searched only if there are too few of those.
  const rows = await ctx.db.query(
    { country: 'text?', region: 'text?', city: 'text?', openCount: 'int', no: 'bigint' },
    sql`SELECT k.no, l.* FROM ${campaignsAskedFor(keys)}
         CROSS JOIN LATERAL (
           WITH frequent AS MATERIALIZED (
             SELECT * FROM hot.location_counter l WHERE l.customer_id = k.customer_id AND l.source_kind = ${CAMPAIGN} AND l.source_id = k.campaign_id AND open_count > 32
              ORDER BY open_count DESC LIMIT ${TOP_LIST_LENGTH}::integer), others AS (
             SELECT * FROM hot.location_counter l WHERE l.customer_id = k.customer_id AND l.source_kind = ${CAMPAIGN} AND l.source_id = k.campaign_id AND open_count <= 32
              ORDER BY open_count DESC, country, region, city LIMIT ${TOP_LIST_LENGTH}::integer - (SELECT count(*) FROM frequent))
           SELECT nullif(country, '') AS country, nullif(region, '') AS region, nullif(city, '') AS city, open_count AS "openCount"
             FROM (SELECT * FROM frequent UNION ALL SELECT * FROM others) both_sides) l
         ORDER BY k.no, l."openCount" DESC, l.country, l.region, l.city`,
    'statistics.locations',
  );
  return byCampaign(keys, rows, ({ country, region, city, openCount }) => ({ country, region, city, openCount }));
}

/** Who opened most often, at most ten per campaign, the most frequent first. */
export async function readTopOpeners(ctx: Pick<Context, 'db'>, keys: readonly CampaignKey[]): Promise<TopOpener[][]> {
  // People who opened again have an index of their own. Of those who opened once any will do, and they are searched only if there
  // are too few of the others: that reads the campaign's rows until ten are found.
  const rows = await ctx.db.query(
    { no: 'bigint', id: 'bigint', email: 'text', open_count: 'int' },
    sql`SELECT k.no, s.id, s.email, t.open_count FROM ${campaignsAskedFor(keys)}
         CROSS JOIN LATERAL (
           WITH again AS MATERIALIZED (
             SELECT recipient_id, open_count FROM hot.recipient_activity a
              WHERE a.customer_id = k.customer_id AND a.source_kind = ${CAMPAIGN} AND a.source_id = k.campaign_id AND open_count > 1
              ORDER BY open_count DESC LIMIT ${TOP_LIST_LENGTH}::integer), once AS (
             SELECT recipient_id, open_count FROM hot.recipient_activity a
              WHERE a.customer_id = k.customer_id AND a.source_kind = ${CAMPAIGN} AND a.source_id = k.campaign_id AND open_count = 1
              LIMIT ${TOP_LIST_LENGTH}::integer - (SELECT count(*) FROM again))
           SELECT * FROM again UNION ALL SELECT * FROM once) t
         CROSS JOIN LATERAL (
           SELECT s.id, s.email FROM campaign c
             JOIN subscriber s ON s.customer_id = c.customer_id AND s.list_id = c.list_id AND s.id = t.recipient_id
            WHERE c.customer_id = k.customer_id AND c.id = k.campaign_id
           -- Keeps it a look-up for each of the ten. As a join it may read the whole list.
           OFFSET 0) s
         ORDER BY k.no, t.open_count DESC, s.id`,
    'statistics.openers',
  );
  return byCampaign(keys, rows, ({ id, email, open_count }) => ({
    subscriberUid: subscriberUid(id),
    email,
    openCount: open_count,
  }));
}

function campaignsAskedFor(keys: readonly CampaignKey[]): Sql {
  return sql`unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
             WITH ORDINALITY AS k (customer_id, campaign_id, no)`;
}

/** The rows of each campaign, in the order of the campaigns and of the rows. */
function byCampaign<Row, Item>(
  keys: readonly CampaignKey[],
  rows: readonly Numbered<Row>[],
  item: (row: Row) => Item,
): Item[][] {
  const lists = keys.map((): Item[] => []);
  for (const row of rows) lists[Number(row.no) - 1]?.push(item(row));
  return lists;
}
