/** Pauses a campaign that something of its own stands in the way of (its template, its sender, its people), and says what. */
import { inTransaction, type Context } from '../context.ts';
import type { CampaignStop } from '../delivery/send-batch.ts';
import { takeBackRefusals } from '../delivery/take-back-refusals.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { holdRefusals, moveCampaign } from './campaign-store.ts';

const TO_MEND =
  'Sending was stopped; nobody who is left has lost anything. See to what is named there, and to the fields that a template reads, then resume.';
const TO_DECIDE =
  'Sending was stopped; those who were refused like that are queued again, and none of them is suppressed for it. A server that says so of everybody is broken or set up wrongly: mend it, or choose another one, and resume. If it is right, the list is old or was not asked: better clean it first. Resumed, the campaign tries them once more and then believes what it is told.';

/** Answers whether it was being sent until now. Whoever is left stays in the ledger: resumed, it goes on with them. */
export async function pauseStoppedCampaign(
  ctx: Context,
  key: CampaignKey,
  { pauseFor, refusedSince }: CampaignStop,
): Promise<boolean> {
  const campaign = { customerId: key.customerId, id: key.campaignId };
  const reason = `${pauseFor} ${refusedSince ? TO_DECIDE : TO_MEND}`;
  return inTransaction(ctx, async ({ db }) => {
    const isPaused = await moveCampaign(db, { campaign, from: ['sending'], to: 'paused', reason });
    if (!isPaused || !refusedSince) return isPaused;
    await holdRefusals(db, key);
    await takeBackRefusals(db, key, refusedSince);
    return true;
  });
}
