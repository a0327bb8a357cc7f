/** Sets a campaign's time and starts it, in one step: at that time if it is in the future, else now. */
import { inTransaction, type Context } from '../context.ts';
import { askAboutSender } from './campaign-readiness.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { startCampaign } from './start-campaign.ts';
import { updateCampaign } from './update-campaign.ts';

/** Sets the time of delivery, then does what `startCampaign` does, with its errors; nothing changes when one fails. */
export async function scheduleCampaign(ctx: Context, uid: string, deliveryAt: Date): Promise<{ uid: string }> {
  await askAboutSender(ctx, await findOwnedCampaign(ctx, uid));
  return inTransaction(ctx, async (tx) => {
    await updateCampaign(tx, uid, { deliveryAt: deliveryAt });
    return startCampaign(tx, uid);
  });
}
