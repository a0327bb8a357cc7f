/** Starts a campaign, or resumes a paused one, or schedules one whose time is still to come (decision D21). */
import { enqueue } from '../../jobs/define-job.ts';
import { snapshotAudienceJob } from '../../jobs/campaign-jobs.ts';
import { hasRunningPlan, requireRunningPlan } from '../billing/plans/require-allowed.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { hasServerToSendThrough } from '../sending/sending-server-read-model.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { registerCampaignLinks } from '../statistics/link-counter-store.ts';
import { audienceFault } from './campaign-audience.ts';
import { appoint, isAhead } from './campaign-schedule.ts';
import { campaignNotReady, wrongCampaignState } from './campaign-errors.ts';
import { askAboutSender, campaignFaults, lackingForSending, missingForSending } from './campaign-readiness.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { findCampaignById, keepSegment } from './campaign-store.ts';
import { hasBegun, type Campaign } from './campaign.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { continueCampaign } from './continue-campaign.ts';
import { fieldsOf } from './send-fault.ts';
import { pauseWithoutPlan } from './wait-for-plan.ts';

/**
 * Queues the viewer's campaign for delivery. Throws CAMPAIGN_NOT_READY (with what is missing),
 * CAMPAIGN_WRONG_STATE, CAMPAIGN_NOT_FOUND.
 */
export async function startCampaign(ctx: Context, uid: string): Promise<{ uid: string }> {
  if (!ctx.tx) await askAboutSender(ctx, await findOwnedCampaign(ctx, uid));
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    await start(tx, campaign);
    return { uid: campaign.uid };
  });
}

/** Starts a scheduled campaign at its time; one that was moved, paused or started meanwhile is not changed. */
export async function startScheduledCampaign(ctx: Context, key: CampaignKey): Promise<void> {
  await askAboutSender(ctx, await findCampaignById(ctx.db, key.customerId, key.campaignId));
  await inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, key.customerId, key.campaignId, { lock: true });
    if (campaign?.status !== 'scheduled' || (await isAhead(tx.db, campaign.deliveryAt))) return;
    if (!(await hasRunningPlan(tx.db, key.customerId))) return pauseWithoutPlan(tx, key);
    const lacking = await lackingForSending(tx, campaign);
    if (lacking.length === 0) return launchOrEnd(tx, campaign);
    const reason = { code: 'not_ready', params: { faults: lacking } } as const;
    await moveCampaign(tx.db, campaign, { from: ['scheduled'], to: 'paused', reason });
  });
}

/** At its time a campaign to nobody ends as `error` (decision D56); it may be run again. */
async function launchOrEnd(tx: TransactionContext, campaign: Campaign): Promise<void> {
  const nobody = await audienceFault(tx, campaign);
  if (!nobody) return launch(tx, campaign);
  await moveCampaign(tx.db, campaign, { from: ['scheduled'], to: 'error', reason: nobody });
}

async function start(tx: TransactionContext, campaign: Campaign): Promise<void> {
  await requireRunningPlan(tx.db, campaign.customerId);
  if (campaign.status === 'paused' && hasBegun(campaign)) return continueCampaign(tx, campaign);
  if (campaign.status === 'queued' || campaign.status === 'sending' || campaign.status === 'done') {
    throw wrongCampaignState('started', campaign.status);
  }
  await checkReady(tx, campaign);
  const { deliveryAt } = campaign;
  if (deliveryAt === null || !(await isAhead(tx.db, deliveryAt))) {
    const nobody = await audienceFault(tx, campaign);
    if (nobody) throw campaignNotReady(fieldsOf([nobody]));
    return launch(tx, campaign);
  }
  await moveCampaign(tx.db, campaign, { from: [campaign.status], to: 'scheduled' });
  await appoint(tx.db, campaign, deliveryAt);
}

async function checkReady(tx: TransactionContext, campaign: Campaign): Promise<void> {
  const missing = fieldsOf(await campaignFaults(tx.db, campaign));
  if (!(await hasServerToSendThrough(tx.db, campaign.customerId, campaign.id)))
    missing['sendingServer'] = [
      'There is no active sending server: create one first, or choose another for the campaign.',
    ];
  if (Object.keys(missing).length > 0) throw campaignNotReady(missing);
  const lacking = await missingForSending(tx, campaign);
  if (lacking.length > 0) throw campaignNotReady(fieldsOf(lacking));
}

async function launch(tx: TransactionContext, campaign: Campaign): Promise<void> {
  const { customerId, id: campaignId } = campaign;
  const message = await compileCampaign(tx, { customerId, campaignId });
  // Reports show every link from the beginning, also without clicks.
  if (message) await registerCampaignLinks(tx, { customerId, campaignId, links: message.links });
  await keepSegment(tx.db, campaign);
  await moveCampaign(tx.db, campaign, { from: [campaign.status], to: 'queued' });
  const payload = { customerId: String(customerId), campaignId: String(campaignId) };
  await enqueue(tx.db, snapshotAudienceJob, payload, { key: `campaigns.plan:${campaignId}` });
}
