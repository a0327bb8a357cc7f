/**
 * Takes opens and clicks one by one, as requests bring them, and writes them in batches. One per process, for as
 * long as the process serves links.
 */
import type { Context } from '../context.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import { messageOf } from '../../lib/errors.ts';
import { roundsOf } from './activity-rounds.ts';
import { makeThisMonth, mayLackPartition } from './partitions.ts';
import { recordActivity, type Activity } from './record-activity.ts';
import type { TrackedClick, TrackedRecipient, Visitor } from './tracking.ts';

export interface ActivityRecorder {
  /** Resolves when the open is committed. */
  open(recipient: TrackedRecipient, visitor: Visitor): Promise<void>;
  /** Resolves when the click is committed. */
  click(click: TrackedClick, visitor: Visitor): Promise<void>;
  /** Writes what waits and takes nothing more. */
  close(): Promise<void>;
}

/** Measured: larger batches are no faster per event and hold the counters' locks longer. */
const BATCH_MAX = 500;
/** Company for the first one; a reader does not notice. */
const WAIT_MS = 3;
/** About a second of the highest rate one process takes, some 20 MB. */
const WAITING_MAX = 20_000;
/** With the delays below: a restart of the database is survived. */
const TRIES_MAX = 6;
const RETRY_DELAY_MS = 100;

/** Starts recording through `ctx`, which stays open until `close`. */
export function createActivityRecorder(ctx: Context): ActivityRecorder {
  const commits = createGroupCommit<Activity>({
    batchMax: BATCH_MAX,
    waitMs: WAIT_MS,
    waitingMax: WAITING_MAX,
    async write(batch) {
      // Each is tried again by itself: one that is written must not be written twice.
      for (const round of roundsOf(batch)) await writePatiently(ctx, round);
    },
  });
  return {
    open: (recipient, visitor) =>
      commits.add({ recipient, visitor, linkNo: null, url: null, cameAt: performance.now() }),
    click: ({ linkNo, url, ...recipient }, visitor) =>
      commits.add({ recipient, visitor, linkNo, url, cameAt: performance.now() }),
    close: () => commits.close(),
  };
}

/** Tries again after a deadlock with another process or a lost connection: nothing of a failed batch is written. */
async function writePatiently(ctx: Context, batch: readonly Activity[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await recordActivity(ctx, batch);
    } catch (error) {
      ctx.log.warn('tracking.record_failed', { events: batch.length, tries, message: messageOf(error) });
      if (tries >= TRIES_MAX) throw error;
      if (mayLackPartition(error)) await makeThisMonth(ctx).catch(() => undefined);
    }
    await new Promise((resume) => setTimeout(resume, RETRY_DELAY_MS * 2 ** (tries - 1)));
  }
}
