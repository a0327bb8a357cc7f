/**
 * Decides by hand what the ledger could not: messages that were handed over and never answered. Whoever knows the
 * server's log accepts them as sent; whoever would rather mail somebody twice than not at all sends them again.
 */
import { inTransaction, type Context } from '../context.ts';
import { ledgerOfCampaign } from '../delivery/delivery.ts';
import { decideUnknown, type UnknownDecision } from '../delivery/unknown-outcome-store.ts';
import { wrongCampaignState } from './campaign-errors.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/**
 * Accepts or resends every parked delivery of the viewer's campaign and answers how many there were. A campaign that
 * was done is sending again until the resent ones are through; a paused one keeps them for its resuming. Throws
 * CAMPAIGN_WRONG_STATE before the campaign has started, CAMPAIGN_NOT_FOUND.
 */
export async function decideUnknownDeliveries(
  ctx: Context,
  uid: string,
  decision: UnknownDecision,
): Promise<{ uid: string; decided: number }> {
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    const { customerId, id: campaignId, snapshotOn } = campaign;
    if (snapshotOn === null) throw wrongCampaignState('decided about', campaign.status);
    const decided = await decideUnknown(tx.db, ledgerOfCampaign({ snapshotOn, customerId, campaignId }), decision);
    if (decided > 0 && decision === 'resend') {
      await moveCampaign(tx.db, campaign, { from: ['done'], to: 'sending' });
      if (campaign.status !== 'paused') await enqueueOpenWork(tx, campaign);
    }
    return { uid: campaign.uid, decided };
  });
}
