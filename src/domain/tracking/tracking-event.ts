/** A tracking event: one open or one click, as the request brought it and before anything is made of it. */
import type { TrackedRecipient, Visitor } from './tracking.ts';

/** An open, or a click when `linkNo` is there. */
export interface TrackingEvent {
  readonly recipient: TrackedRecipient;
  readonly visitor: Visitor;
  readonly linkNo: number | null;
  readonly url: string | null;
  /** When it came, by `performance.now()`; without it: now. The database's clock less its age is its time. */
  readonly cameAt?: number;
}

/** Clicks of one recipient further apart than this are no run. */
export const RUN_GAP_MS = 1_000;

/** Held by whoever moves tracking events on: one at a time (db/lock.ts). */
export const MOVING_LOCK = 'mailwright:tracking-events';
