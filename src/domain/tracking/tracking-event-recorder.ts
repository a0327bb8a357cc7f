/** Takes opens and clicks one by one from requests, and stores them in batches. One per process that serves links. */
import type { Context } from '../context.ts';
import { createGroupCommit } from '../../lib/group-commit.ts';
import { messageOf } from '../../lib/errors.ts';
import { appendNothing, appendTrackingEvents } from './tracking-event-store.ts';
import { roundsOf } from './tracking-event-rounds.ts';
import type { TrackedClick, TrackedRecipient, Visitor } from './tracking.ts';
import type { TrackingEvent } from './tracking-event.ts';

export interface TrackingEventRecorder {
  /** Resolves when the open is committed. */
  open(recipient: TrackedRecipient, visitor: Visitor): Promise<void>;
  /** Resolves when the click is committed. */
  click(click: TrackedClick, visitor: Visitor): Promise<void>;
  /** Takes as long as recording does, and records nothing. */
  nothing(): Promise<void>;
  /** Writes what waits and accepts nothing more. */
  close(): Promise<void>;
}

/** A row of some 100 kB. */
const BATCH_MAX = 500;
/** With so many a second commit in parallel is worth it: each costs as much as a hundred tracking events in it. */
const ANOTHER_AT = 64;
/** About a second of the highest rate of one process, some 20 MB. */
const WAITING_MAX = 20_000;
/** With the delays below: enough for a restart of the database. */
const TRIES_MAX = 6;
const RETRY_DELAY_MS = 100;

/** Starts recording with `ctx`, which stays open until `close`. `onWritten` is called when there are events to move. */
export function createTrackingEventRecorder(
  ctx: Context,
  onWritten: () => void = () => undefined,
): TrackingEventRecorder {
  const commits = createGroupCommit<TrackingEvent>({
    batchMax: BATCH_MAX,
    waitMs: 0,
    waitingMax: WAITING_MAX,
    anotherAt: ANOTHER_AT,
    async write(batch) {
      // Each is tried again separately: one that is written must not be written twice.
      for (const round of roundsOf(batch)) await writeWithRetries(ctx, round);
      onWritten();
    },
  });
  const nothings = createGroupCommit<undefined>({
    batchMax: BATCH_MAX,
    waitMs: 0,
    waitingMax: WAITING_MAX,
    anotherAt: ANOTHER_AT,
    write: () => appendNothing(ctx.db),
  });
  return {
    open: (recipient, visitor) =>
      commits.add({ recipient, visitor, linkNo: null, url: null, cameAt: performance.now() }),
    // The click object is its recipient with unused extra values: cheaper than a copy.
    click: (click, visitor) =>
      commits.add({ recipient: click, visitor, linkNo: click.linkNo, url: click.url, cameAt: performance.now() }),
    nothing: () => nothings.add(undefined),
    close: async () => void (await Promise.all([commits.close(), nothings.close()])),
  };
}

/** Tries again after a lost connection: nothing of a failed batch is written. */
async function writeWithRetries(ctx: Context, batch: readonly TrackingEvent[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await appendTrackingEvents(ctx.db, batch);
    } catch (error) {
      ctx.log.warn('tracking.record_failed', { trackingEvents: batch.length, tries, message: messageOf(error) });
      if (tries >= TRIES_MAX) throw error;
    }
    await new Promise((resume) => setTimeout(resume, RETRY_DELAY_MS * 2 ** (tries - 1)));
  }
}
