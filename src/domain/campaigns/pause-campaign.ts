/** Pauses a campaign: messages in flight, or being marked, are finished and recorded; no more are started. */
import { inTransaction, type Context } from '../context.ts';
import { wrongCampaignState } from './campaign-errors.ts';
import { moveCampaign, PAUSABLE } from './campaign-state-store.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/** Pauses the viewer's campaign. Throws CAMPAIGN_WRONG_STATE when it is not scheduled, queued or sending. */
export async function pauseCampaign(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    const isPaused = await moveCampaign(tx.db, campaign, { from: PAUSABLE, to: 'paused' });
    if (!isPaused) throw wrongCampaignState('paused', campaign.status);
    return { uid: campaign.uid };
  });
}
