/** Continues a paused campaign from where it stopped. */
import type { Context } from '../context.ts';
import { inTransaction } from '../context.ts';
import { askAboutSender } from './campaign-readiness.ts';
import { wrongCampaignState } from './campaign-errors.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { startCampaign } from './start-campaign.ts';

/** Resumes the viewer's campaign. Throws CAMPAIGN_WRONG_STATE when it is not paused, CAMPAIGN_NOT_FOUND. */
export async function resumeCampaign(ctx: Context, uid: string): Promise<{ uid: string }> {
  await askAboutSender(ctx, await findOwnedCampaign(ctx, uid));
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    if (campaign.status !== 'paused') throw wrongCampaignState('resumed', campaign.status);
    return startCampaign(tx, uid);
  });
}
