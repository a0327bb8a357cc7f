/**
 * Makes deliveries of what webhooks of customers ask for, in each process with the role `worker`, beside the requests that brought it: wakes
 * by a notification and by a clock. What is taken and the deliveries are one transaction, so that each is made exactly once.
 */
import { messageOf } from '../../lib/errors.ts';
import { startWokenLoop, type WokenLoop } from '../../lib/woken-loop.ts';
import type { Context } from '../context.ts';
import { addDeliveries } from './delivery-store.ts';
import { deliveriesOf } from './deliveries-of-activity.ts';
import { takeActivity } from './webhook-activity-store.ts';

/** Opens and clicks wait some seconds, without a notification. */
const TICK_MS = 1_000;
const ROUND_MS_MIN = 50;
/** With the most webhooks of a customer these make 10,000 deliveries, in pieces; with the largest fields they have 40 MB. */
const BATCH = 100;

/** Starts it. */
export function startWebhookActivityFollower(ctx: Context, pausedFor?: string): WokenLoop {
  return startWokenLoop({
    ...{ tickMs: TICK_MS, roundMsMin: ROUND_MS_MIN, pausedFor },
    async run(isStopping) {
      while (!isStopping() && (await followActivity(ctx)) > 0);
    },
    onFailure: (error) => ctx.log.warn('webhooks.activity_not_read', { message: messageOf(error) }),
  });
}

/** One batch; answers how much was taken. */
export function followActivity({ database }: Pick<Context, 'database'>): Promise<number> {
  return database.transaction(async (tx) => {
    const taken = await takeActivity(tx, BATCH);
    if (taken.length > 0) await addDeliveries(tx, await deliveriesOf(tx, taken));
    return taken.length;
  });
}
