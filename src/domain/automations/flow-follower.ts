/**
 * Lets flows read what happens to people, in each process with the role `worker`: wakes by a notification and by a clock, and reads until
 * there is nothing more. A flow is read for by one process at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { followActivity } from './follow-activity.ts';
import { followPeople } from './follow-people.ts';

export interface FlowFollower {
  /** Something has happened to people. */
  wake(): void;
  /** Reads nothing as long as there is a reason. */
  pause(reason: string): void;
  resume(reason: string): void;
  /** Begins no further batch. */
  beginStop(): void;
  /** The same, and waits for the batch being handled, at most `graceMs`. What is cut off has not happened. */
  stop(graceMs: number): Promise<void>;
}

/** Notifications may get lost, and what failed is due again. */
const TICK_MS = 2_000;
/** However many transactions write events, they are looked for at most so often. */
const ROUND_MS_MIN = 50;

/** Opens and clicks wait some seconds before they count, so nobody notifies of them: the clock is soon enough. */
async function readOn(ctx: Context, isStopping: () => boolean): Promise<void> {
  await followPeople(ctx, { isStopping });
  await followActivity(ctx, { isStopping });
}

/** Starts it. */
export function startFlowFollower(ctx: Context, pausedFor?: string): FlowFollower {
  const reasons = new Set(pausedFor === undefined ? [] : [pausedFor]);
  let isStopping = false;
  let isWanted = false;
  let work: Promise<void> | undefined;
  const isPaused = (): boolean => isStopping || reasons.size > 0;
  /** Never rejects. */
  const run = async (): Promise<void> => {
    while (isWanted && !isPaused()) {
      isWanted = false;
      await readOn(ctx, isPaused).catch((error: unknown) =>
        ctx.log.warn('automations.events_not_read', { message: messageOf(error) }),
      );
      if (!isPaused()) await sleep(ROUND_MS_MIN);
    }
  };
  const wake = (): void => {
    isWanted = true;
    work ??= run().finally(() => (work = undefined));
  };
  const tick = setInterval(wake, TICK_MS);
  const beginStop = (): void => {
    isStopping = true;
    clearInterval(tick);
  };
  wake();
  return {
    wake,
    pause: (reason) => void reasons.add(reason),
    resume(reason) {
      reasons.delete(reason);
      wake();
    },
    beginStop,
    async stop(graceMs) {
      beginStop();
      const late = new AbortController();
      await Promise.race([work, sleep(graceMs, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
    },
  };
}
