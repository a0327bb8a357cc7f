/**
 * Makes deliveries of what webhooks of customers ask for, in each process with the role `worker`, beside the requests that brought it: wakes
 * by a notification and by a clock. What is taken and the deliveries are one transaction, so that each is made exactly once.
 */
import type { Queryable } from '../../db/database.ts';
import { messageOf } from '../../lib/errors.ts';
import { isUnavailable } from '../../lib/is-unavailable.ts';
import { startWokenLoop, type WokenLoop } from '../../lib/woken-loop.ts';
import type { Context } from '../context.ts';
import { addDeliveries } from './delivery-store.ts';
import { deliveriesOf } from './deliveries-of-activity.ts';
import { chooseActivity, putOffActivity, takeActivity, type ActivityKey } from './webhook-activity-store.ts';

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

type Means = Pick<Context, 'database' | 'log'>;

/**
 * One batch; answers how much was taken. If it fails, each is taken by itself: one that cannot be reported is tried again later and then kept
 * aside with its reason, and holds up no other.
 */
export async function followActivity(means: Means): Promise<number> {
  let keys: readonly ActivityKey[] = [];
  try {
    await means.database.transaction(async (tx) => {
      keys = await chooseActivity(tx, BATCH);
      await report(tx, keys);
    });
  } catch (error) {
    if (isUnavailable(error) || keys.length === 0) throw error;
    for (const key of keys) await reportAlone(means, key);
  }
  return keys.length;
}

async function report(tx: Queryable, keys: readonly ActivityKey[]): Promise<void> {
  if (keys.length === 0) return;
  await addDeliveries(tx, await deliveriesOf(tx, await takeActivity(tx, keys)));
}

async function reportAlone({ database, log }: Means, key: ActivityKey): Promise<void> {
  try {
    await database.transaction((tx) => report(tx, [key]));
  } catch (error) {
    if (isUnavailable(error)) throw error;
    const message = messageOf(error);
    const isAside = await putOffActivity(database, key, message);
    log.warn(isAside ? 'webhooks.activity_aside' : 'webhooks.activity_again', {
      sequence: Number(key.sequence),
      message,
    });
  }
}
