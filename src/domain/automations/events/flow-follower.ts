/**
 * Lets flows read what happens to people, in each process with the role `worker`: wakes by a notification and by a clock, and reads until
 * there is nothing more. A flow is read for by one process at a time.
 */
import { messageOf } from '../../../lib/errors.ts';
import { startWokenLoop, type WokenLoop } from '../../../lib/woken-loop.ts';
import type { Context } from '../../context.ts';
import { followActivity } from './follow-activity.ts';
import { followPeople, type Following } from './follow-people.ts';

/** Notifications may get lost, and what failed is due again. */
const TICK_MS = 2_000;
/** However many transactions write events, they are looked for at most so often. */
const ROUND_MS_MIN = 50;

/** A turn of opens and clicks, beside what happens to people: neither waits until nothing of the other is left. */
const ACTIVITY_MS = 500;

type Memory = NonNullable<Following['memory']>;

/** Opens and clicks wait some seconds before they count, so nobody notifies of them: the clock is soon enough. */
async function readOn(ctx: Context, memory: Memory, isStopping: () => boolean): Promise<void> {
  const besides = () => {
    const end = performance.now() + ACTIVITY_MS;
    return followActivity(ctx, { isStopping: () => isStopping() || performance.now() >= end });
  };
  await followPeople(ctx, { isStopping, besides, memory });
}

/** Starts it. A batch that is cut off by the stop has not happened. */
export function startFlowFollower(ctx: Context, pausedFor?: string): WokenLoop {
  const memory: Memory = {};
  return startWokenLoop({
    ...{ tickMs: TICK_MS, roundMsMin: ROUND_MS_MIN, pausedFor },
    run: (isStopping) => readOn(ctx, memory, isStopping),
    onFailure: (error) => ctx.log.warn('automations.events_not_read', { message: messageOf(error) }),
  });
}
