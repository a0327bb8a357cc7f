/** A tracking event: one open or one click, as the request brought it. */
import type { TrackedRecipient, Visitor } from './tracking.ts';

/** A click if it has a `linkNo`, else an open. */
export interface TrackingEvent {
  readonly recipient: TrackedRecipient;
  readonly visitor: Visitor;
  readonly linkNo: number | null;
  readonly url: string | null;
  /** When it came, by `performance.now()`; absent: now. Its time is the database's clock less its age. */
  readonly cameAt?: number;
}

/** Clicks of one recipient further apart are in different bursts. */
export const BURST_GAP_MS = 1_000;

/** Held while tracking events are moved: one process at a time (db/lock.ts). */
export const MOVING_LOCK = 'mailwright:tracking-events';
