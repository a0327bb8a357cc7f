/** Gives a campaign its time and starts it, as one act: at the time when it is ahead, now when it is not. */
import { inTransaction, type Context } from '../context.ts';
import { startCampaign } from './start-campaign.ts';
import { updateCampaign } from './update-campaign.ts';

/** Sets the time of delivery, then does what `startCampaign` does, with its errors; nothing is changed when one fails. */
export async function scheduleCampaign(ctx: Context, uid: string, deliveryAt: Date): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    await updateCampaign(tx, uid, { deliveryAt: deliveryAt });
    return startCampaign(tx, uid);
  });
}
