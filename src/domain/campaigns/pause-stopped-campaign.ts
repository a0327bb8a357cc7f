/** Pauses a campaign that something of its own stands in the way of (its template, its sender), and says what. */
import type { Context } from '../context.ts';
import type { CampaignStop } from '../delivery/send-batch.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign } from './campaign-store.ts';

/** Answers whether it was being sent until now. Whoever is left stays in the ledger: resumed, it goes on with them. */
export async function pauseStoppedCampaign(
  ctx: Context,
  { customerId, campaignId }: CampaignKey,
  { pauseFor }: CampaignStop,
): Promise<boolean> {
  const reason = `${pauseFor} Sending was stopped; nobody who is left has lost anything. See to what is named there, and to the fields that a template reads, then resume.`;
  return moveCampaign(ctx.db, { campaign: { customerId, id: campaignId }, from: ['sending'], to: 'paused', reason });
}
