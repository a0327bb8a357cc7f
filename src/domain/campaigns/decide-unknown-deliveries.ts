/**
 * A user's decision about messages with an unknown outcome. With the server's log at hand the user accepts them as sent, or sends
 * them again at the risk of a second copy.
 */
import { inTransaction, type Context } from '../context.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { decideUnknown, type UnknownDecision } from '../delivery/ledger/unknown-outcome-store.ts';
import { keepInQuota } from '../sending/send-budget-store.ts';
import { campaignListDeleted, wrongCampaignState } from './campaign-errors.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/**
 * Accepts or resends every parked delivery of the viewer's campaign and returns their number. A finished campaign is sending
 * again until the resent ones are done; a paused one keeps them until it is resumed. Throws CAMPAIGN_WRONG_STATE before the
 * campaign has started, CAMPAIGN_LIST_DELETED, CAMPAIGN_NOT_FOUND.
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
    if (campaign.listName !== null && decision === 'resend') throw campaignListDeleted();
    const decided = await decideUnknown(tx.db, ledgerOfCampaign({ snapshotOn, customerId, campaignId }), decision);
    if (decided > 0 && decision === 'resend') {
      await keepInQuota(tx.db, customerId, decided);
      await moveCampaign(tx.db, campaign, { from: ['done'], to: 'sending' });
      if (campaign.status !== 'paused') await enqueueOpenWork(tx, campaign);
    }
    return { uid: campaign.uid, decided };
  });
}
