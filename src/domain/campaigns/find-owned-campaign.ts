/** Finds a campaign for the caller: own, foreign or unknown. */
import { viewerOf, type Context } from '../context.ts';
import { campaignNotFound, foreignCampaign } from './campaign-errors.ts';
import { campaignExists, findCampaign } from './campaign-store.ts';
import type { Campaign } from './campaign.ts';

/** The viewer's campaign with this uid. Throws CAMPAIGN_NOT_FOUND, or FOREIGN_RESOURCE when it is another tenant's. */
export async function findOwnedCampaign(
  ctx: Context,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<Campaign> {
  const campaign = await findCampaign(ctx.db, viewerOf(ctx).customerId, uid, options);
  if (campaign) return campaign;
  throw (await campaignExists(ctx.db, uid)) ? foreignCampaign() : campaignNotFound();
}
