/** Pauses a campaign because of its own fault (its template, its sender, its recipients), and records the reason. */
import { inTransaction, type Context } from '../context.ts';
import type { CampaignStop } from '../delivery/campaigns/campaign-stop.ts';
import { takeBackRefusals } from '../delivery/campaigns/take-back-refusals.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { countRefusals } from './campaign-store.ts';

/** Returns whether it was being sent until now. The rest of the recipients stays in the ledger until it is resumed. */
export async function pauseStoppedCampaign(
  ctx: Context,
  key: CampaignKey,
  { pauseFor, refusedSince }: CampaignStop,
): Promise<boolean> {
  const campaign = { customerId: key.customerId, id: key.campaignId };
  return inTransaction(ctx, async ({ db }) => {
    const isPaused = await moveCampaign(db, campaign, { from: ['sending'], to: 'paused', reason: pauseFor });
    if (!isPaused || !refusedSince) return isPaused;
    await countRefusals(db, key);
    await takeBackRefusals(db, key, refusedSince);
    return true;
  });
}
