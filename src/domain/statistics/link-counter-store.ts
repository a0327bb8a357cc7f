/** Which links a campaign has; their clicks are counted with the tracking events (tracking/activity-counters-store.ts). */
import type { Context } from '../context.ts';
import { sql } from '../../db/database.ts';
import type { CampaignKey } from './campaign-key.ts';
import { CAMPAIGN } from './source-read-model.ts';

/**
 * Registers a campaign's links before anybody clicks, by their addresses as the author wrote them. Numbers are positions; an
 * address that changed before its first click is corrected, and one that is no longer in the message is deleted.
 */
export async function registerCampaignLinks(
  ctx: Pick<Context, 'db'>,
  { customerId, campaignId, links }: CampaignKey & { links: readonly { no: number; url: string }[] },
): Promise<void> {
  await ctx.db.execute(
    sql`DELETE FROM hot.link_counter WHERE customer_id = ${customerId} AND source_kind = ${CAMPAIGN} AND source_id = ${campaignId} AND click_count = 0
           AND link_no <> ALL (${links.map(({ no }) => no)}::integer[])`,
  );
  if (links.length === 0) return;
  await ctx.db.execute(
    sql`INSERT INTO hot.link_counter AS l (customer_id, source_kind, source_id, link_no, url)
        SELECT ${customerId}, ${CAMPAIGN}, ${campaignId}, k.no, k.url
          FROM unnest(${links.map(({ no }) => no)}::integer[], ${links.map(({ url }) => url)}::text[]) AS k (no, url) ORDER BY k.no
        ON CONFLICT (customer_id, source_kind, source_id, link_no) DO UPDATE SET url = excluded.url WHERE l.click_count = 0`,
  );
}
