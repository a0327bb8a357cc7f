/** Pauses a campaign whose message had to be stopped or cannot be composed any more, and says why. */
import type { Context } from '../context.ts';
import type { TemplateStop } from '../delivery/send-batch.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign } from './campaign-store.ts';

/** Answers whether it was being sent until now. Whoever is left stays in the ledger: resumed, it goes on with them. */
export async function pauseRunaway(
  ctx: Context,
  { customerId, campaignId }: CampaignKey,
  { runaway }: TemplateStop,
): Promise<boolean> {
  const reason = `${runaway} Sending was stopped; nobody who is left has lost anything. See to what is named there, and to the fields that a template reads, then resume.`;
  return moveCampaign(ctx.db, { campaign: { customerId, id: campaignId }, from: ['sending'], to: 'paused', reason });
}
