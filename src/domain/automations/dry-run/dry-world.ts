/** What a dry run goes over, and until when (D91). */
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import type { Zones } from '../runs/zones.ts';

/** Of processor time and statements: what is not done by then is cut off, and says so. */
const SECONDS_MAX = 10;
/** Of all paths together, as the answer shows them: some 3 MB. */
export const DRY_STEPS_MAX = 15_000;

export interface DryWorld {
  readonly live: LiveFlow;
  readonly zones: Zones;
  readonly answers: AnswersByQuestion;
  /** Where the virtual clock begins. */
  readonly from: Date;
  /** Up to when triggers let people in: now. */
  readonly until: Date;
  /** Where the virtual clock stops. */
  readonly to: Date;
  /** Of `performance.now()`. */
  readonly deadline: number;
  /** How many may be made yet. */
  readonly steps: { left: number };
}

/** When the dry run has to be over. */
export function dryDeadline(): number {
  return performance.now() + SECONDS_MAX * 1_000;
}

/** Until when what happened in this moment counts: times of the database are more exact. */
export function endOfMillisecond(at: Date): Date {
  return new Date(at.getTime() + 1);
}
