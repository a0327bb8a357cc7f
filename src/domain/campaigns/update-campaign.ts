/** Changes a campaign that is not under way (decision D22; one that has begun: change-late.ts). */
import { parseInput } from '../../lib/text.ts';
import { lockOwnedList } from '../audience/find-owned-list.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { compileCampaign } from '../delivery/campaign-message.ts';
import { checkedRoutes } from '../sending/routing/routes.ts';
import { appoint } from './campaign-schedule.ts';
import { moveCampaign, type CampaignStatus } from './campaign-state-store.ts';
import { hasBegun, type Campaign } from './campaign.ts';
import { wrongCampaignState } from './campaign-errors.ts';
import { updateCampaignInput, type UpdateCampaignInput } from './campaign-fields.ts';
import { campaignFaults, isEditable } from './campaign-readiness.ts';
import { segmentToWrite } from './campaign-segment.ts';
import { writeCampaign } from './campaign-store.ts';
import { isContent, mayChangeLate, takeLateContent } from './change-late.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/**
 * Writes the given fields. A scheduled campaign is moved to its new time; without a time, or with something missing, it is no
 * longer scheduled. Throws ValidationError (CAMPAIGN_NOT_READY for one that has begun and would be incomplete),
 * CAMPAIGN_WRONG_STATE, CAMPAIGN_NOT_FOUND.
 */
export async function updateCampaign(ctx: Context, uid: string, input: UpdateCampaignInput): Promise<{ uid: string }> {
  const parsed = parseInput(updateCampaignInput, input);
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    if (!isEditable(campaign) && !(await mayChangeLate(tx, campaign, parsed)))
      throw wrongCampaignState('changed', campaign.status);
    const list = parsed.listUid === undefined ? undefined : await lockOwnedList(tx, parsed.listUid);
    const segmentId = await segmentToWrite(tx, {
      listId: list?.id ?? campaign.listId,
      segmentUid: parsed.segmentUid,
      current: campaign,
    });
    const routes = parsed.sendingServers;
    const written = await writeCampaign(tx.db, campaign, {
      ...parsed,
      listId: list?.id,
      segmentId,
      sendingServers: routes === undefined ? undefined : await checkedRoutes(tx.db, campaign.customerId, routes),
    });
    const isComplete = (await campaignFaults(tx.db, written)).length === 0;
    const status = await followContent(tx, campaign, { isComplete, hasTime: written.deliveryAt !== null });
    if (status === 'scheduled' && parsed.deliveryAt) await appoint(tx.db, campaign, parsed.deliveryAt);
    if (isComplete && status !== 'done')
      await compileCampaign(tx.db, { customerId: campaign.customerId, campaignId: campaign.id });
    if (hasBegun(campaign) && isContent(parsed)) await takeLateContent(tx, written);
    return { uid: campaign.uid };
  });
}

/** Gives the campaign the status that follows from its content, and returns it. */
export async function followContent(
  { db }: TransactionContext,
  campaign: Campaign,
  { isComplete, hasTime }: { isComplete: boolean; hasTime: boolean },
): Promise<CampaignStatus> {
  const { status } = campaign;
  if (status === 'paused' || status === 'error' || status === 'done') return status;
  if (status === 'scheduled' && isComplete && hasTime) return status;
  const to = isComplete ? 'ready' : 'new';
  if (status !== to) await moveCampaign(db, campaign, { from: [status], to });
  return to;
}
