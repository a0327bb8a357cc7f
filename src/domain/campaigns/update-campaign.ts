/** Changes a campaign that is not under way (decision D22; one that has begun: change-late.ts). */
import { InputFaults } from '../../lib/input-faults.ts';
import { lockOwnedList } from '../audience/find-owned-list.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { checkedRoutes } from '../sending/routing/routes.ts';
import { appoint } from './campaign-schedule.ts';
import { moveCampaign, type CampaignStatus } from './campaign-state-store.ts';
import { hasBegun, type Campaign } from './campaign.ts';
import { wrongCampaignState } from './campaign-errors.ts';
import { updateCampaignInput, type UpdateCampaignInput } from './campaign-fields.ts';
import { campaignFaults, isEditable } from './campaign-readiness.ts';
import { withTemplate, type TemplateChoice } from './template-choice.ts';
import { segmentToWrite } from './campaign-segment.ts';
import { writeCampaign } from './campaign-store.ts';
import { askAboutLateSender, isContent, mayChangeLate, takeLateContent } from './change-late.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/**
 * Writes the given fields. A scheduled campaign is moved to its new time; without a time, or with something missing, it is no
 * longer scheduled. Throws ValidationError (CAMPAIGN_NOT_READY for one that has begun and would be incomplete),
 * CAMPAIGN_WRONG_STATE, CAMPAIGN_NOT_FOUND.
 */
export async function updateCampaign(
  ctx: Context,
  uid: string,
  given: UpdateCampaignInput & TemplateChoice,
): Promise<{ uid: string }> {
  const input = await withTemplate(ctx, given);
  await askAboutLateSender(ctx, uid, input);
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    const { parsed, ...found } = await checkedChanges(tx, campaign, input);
    const written = await writeCampaign(tx.db, campaign, { ...parsed, ...found });
    const isComplete = (await campaignFaults(tx.db, written)).length === 0;
    const status = await followContent(tx, campaign, { isComplete, hasTime: written.deliveryAt !== null });
    if (status === 'scheduled' && parsed.deliveryAt) await appoint(tx.db, campaign, parsed.deliveryAt);
    if (isComplete && status !== 'done')
      await compileCampaign(tx, { customerId: campaign.customerId, campaignId: campaign.id });
    if (hasBegun(campaign) && isContent(parsed)) await takeLateContent(tx, written);
    return { uid: campaign.uid };
  });
}

/** The changes, and what they name. All faults are thrown together, the state of the campaign among them. */
async function checkedChanges(tx: TransactionContext, campaign: Campaign, input: UpdateCampaignInput) {
  const faults = new InputFaults();
  const parsed = faults.readRight(updateCampaignInput, input);
  await faults.gather(async () => {
    if (!isEditable(campaign) && !(await mayChangeLate(tx, campaign, input)))
      throw wrongCampaignState('changed', campaign.status);
  });
  const { listUid, segmentUid } = parsed;
  const list = listUid === undefined ? undefined : await faults.gather(() => lockOwnedList(tx, listUid), 'listUid');
  const listId = list?.id;
  const segment = { listId: listId ?? campaign.listId, segmentUid, current: campaign };
  // Of a list that does not exist nothing can be a segment.
  const segmentId =
    listUid === undefined || list ? await faults.gather(() => segmentToWrite(tx, segment), 'segmentUid') : undefined;
  const routes = parsed.sendingServers;
  const sendingServers =
    routes === undefined
      ? undefined
      : await faults.gather(() => checkedRoutes(tx.db, campaign.customerId, routes), 'sendingServers');
  faults.check({ areMore: tx.checksOnly });
  return { parsed, listId, segmentId, sendingServers };
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
