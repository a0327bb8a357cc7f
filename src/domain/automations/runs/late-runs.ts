/**
 * Runs that were late when a flow went on after a pause (D85). Nothing is written to them: the node remembers what was chosen, and the worker does
 * it when it comes to them. So it takes no time to choose, a choice is replaced by another one, and what dies in the middle has not happened.
 */
import { RUN_REQUESTS } from './run.ts';

const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;

export type LateMode = 'spread' | 'skip_mails' | 'wait_anew';

/** Of a node. */
export interface LateRuns {
  readonly mode: LateMode;
  /** Those that were due then or before. */
  readonly until: Date;
  /** When the flow went on. */
  readonly from: Date;
  /** Of `spread`. */
  readonly hours: number;
  readonly total: number;
  readonly done: number;
}

/** How many of them may go now. */
export function releasedAt({ mode, from, hours, total, done }: LateRuns, now: Date): number {
  const share = (now.getTime() - from.getTime()) / (hours * HOUR_MS);
  if (mode !== 'spread' || share >= 1 || total <= 1) return Infinity;
  return Math.max(0, Math.floor(share * (total - 1)) + 1 - done);
}

/** When the next of them may go, in whole seconds, so that a node does not come up for each person. */
export function nextRelease(late: LateRuns): Date {
  if (late.mode !== 'spread' || late.total <= 1) return late.from;
  return new Date(Math.ceil(releaseOf(late, late.done).getTime() / SECOND_MS) * SECOND_MS);
}

/** The time of the one that has so many before it. */
export function releaseOf({ mode, from, hours, total }: LateRuns, before: number): Date {
  if (mode !== 'spread' || total <= 1) return from;
  return new Date(from.getTime() + hours * HOUR_MS * Math.min(1, before / (total - 1)));
}

/** What is asked of each; null: only time. */
export function requestOf({ mode }: LateRuns): string | null {
  if (mode === 'skip_mails') return RUN_REQUESTS.skipMails;
  return mode === 'wait_anew' ? RUN_REQUESTS.waitAnew : null;
}
