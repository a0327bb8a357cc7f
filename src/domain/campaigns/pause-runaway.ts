/** Pauses a campaign whose template had to be stopped while it was sent, and says which line it was at. */
import type { Context } from '../context.ts';
import type { TemplateStop } from '../delivery/send-batch.ts';
import { moveCampaign } from './campaign-store.ts';

/** Answers whether it was being sent until now. Whoever is left stays in the ledger: resumed, it goes on with them. */
export async function pauseRunaway(
  ctx: Context,
  { customerId, campaignId }: { customerId: bigint; campaignId: bigint },
  { runaway }: TemplateStop,
): Promise<boolean> {
  const reason = `${runaway} Sending was stopped; nobody who is left has lost anything. See to that line and to the fields that it reads, then resume.`;
  return moveCampaign(ctx.db, { campaign: { customerId, id: campaignId }, from: ['sending'], to: 'paused', reason });
}
