/** The lists beside a campaign's figures (decision D23): its links, its most frequent openers, where they were. */
import type { Context } from '../context.ts';
import { sql } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { CampaignKey } from './announce-campaign-change.ts';

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

/**
 * Makes a campaign's links known before anybody clicks, by their addresses as the author wrote them. Numbers are
 * positions; an address that changed before its first click is corrected.
 */
export async function registerCampaignLinks(
  ctx: Pick<Context, 'db'>,
  { customerId, campaignId, links }: CampaignKey & { links: readonly { no: number; url: string }[] },
): Promise<void> {
  if (links.length === 0) return;
  await ctx.db.execute(
    sql`INSERT INTO hot.link_counter AS l (customer_id, campaign_id, link_no, url)
        SELECT ${customerId}, ${campaignId}, k.no, k.url
          FROM unnest(${links.map(({ no }) => no)}::integer[], ${links.map(({ url }) => url)}::text[]) AS k (no, url) ORDER BY k.no
        ON CONFLICT (customer_id, campaign_id, link_no) DO UPDATE SET url = excluded.url WHERE l.click_count = 0`,
  );
}

/** Every link of the campaign in the order of the message, with its clicks. */
export async function readCampaignLinks(ctx: Pick<Context, 'db'>, { customerId, campaignId }: CampaignKey): Promise<LinkStatistics[]> {
  return ctx.db.query<LinkStatistics & Record<string, unknown>>(
    sql`SELECT url, click_count AS "clickCount", uniq_click_count AS "uniqClickCount", last_click_at AS "lastClick"
          FROM hot.link_counter WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}
         ORDER BY link_no LIMIT ${LINKS_MAX}`,
    'statistics.links',
  );
}

/**
 * Where opens came from. This installation looks no addresses up, so all opens are of one unknown place; without an
 * open there is no place.
 */
export async function readTopLocations(ctx: Pick<Context, 'db'>, { customerId, campaignId }: CampaignKey): Promise<TopLocation[]> {
  return ctx.db.query<TopLocation & Record<string, unknown>>(
    sql`SELECT NULL AS country, NULL AS region, NULL AS city, open_count AS "openCount"
          FROM hot.tracking_counter WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND open_count > 0`,
    'statistics.locations',
  );
}

/** Who opened most often, at most ten, the most frequent first. */
export async function readTopOpeners(ctx: Pick<Context, 'db'>, { customerId, campaignId }: CampaignKey): Promise<TopOpener[]> {
  // Two ways in, so that no campaign is read as a whole: those who opened again have an index of their own, and of
  // those who opened once any ten will do.
  const rows = await ctx.db.query<{ id: bigint; email: string; open_count: number }>(
    sql`WITH again AS (
          SELECT subscriber_id, open_count FROM hot.recipient_activity
           WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND open_count > 1
           ORDER BY open_count DESC LIMIT ${TOP_LIST_LENGTH}
        ), once AS (
          SELECT subscriber_id, open_count FROM hot.recipient_activity
           WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND open_count = 1 LIMIT ${TOP_LIST_LENGTH}
        )
        SELECT s.id, s.email, t.open_count FROM (SELECT * FROM again UNION ALL SELECT * FROM once) t
          JOIN campaign c ON c.customer_id = ${customerId} AND c.id = ${campaignId}
          JOIN subscriber s ON s.customer_id = ${customerId} AND s.list_id = c.list_id AND s.id = t.subscriber_id
         ORDER BY t.open_count DESC, s.id LIMIT ${TOP_LIST_LENGTH}`,
    'statistics.openers',
  );
  return rows.map(({ id, email, open_count }) => ({ subscriberUid: subscriberUid(id), email, openCount: open_count }));
}
