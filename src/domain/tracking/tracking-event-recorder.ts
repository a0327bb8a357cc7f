/**
 * Takes opens and clicks one by one, as requests bring them, and writes them down in batches. One per process, for as
 * long as the process serves links.
 */
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
  /** Writes what waits and takes nothing more. */
  close(): Promise<void>;
}

/** A row of some 100 kB. */
const BATCH_MAX = 500;
/** As many make a second commit worth it while another is under way: each costs as much as a hundred tracking events in it. */
const ANOTHER_AT = 64;
/** About a second of the highest rate one process takes, some 20 MB. */
const WAITING_MAX = 20_000;
/** With the delays below: a restart of the database is survived. */
const TRIES_MAX = 6;
const RETRY_DELAY_MS = 100;

/** Starts recording through `ctx`, which stays open until `close`. `onWritten` hears that there is something to move on. */
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
      // Each is tried again by itself: one that is written must not be written twice.
      for (const round of roundsOf(batch)) await writePatiently(ctx, round);
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
    // The click is its recipient, with more that is not looked at: cheaper than taking it apart.
    click: (click, visitor) =>
      commits.add({ recipient: click, visitor, linkNo: click.linkNo, url: click.url, cameAt: performance.now() }),
    nothing: () => nothings.add(undefined),
    close: async () => void (await Promise.all([commits.close(), nothings.close()])),
  };
}

/** Tries again after a lost connection: nothing of a failed batch is written. */
async function writePatiently(ctx: Context, batch: readonly TrackingEvent[]): Promise<void> {
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
