/** Splits a batch where clicks of one recipient are too far apart to be looked at together. */
import type { Activity } from './record-activity.ts';

/** Clicks of one recipient further apart than this are no run. */
const RUN_GAP_MS = 1_000;

/**
 * One statement takes all clicks of a recipient in it for one run. That is one round nearly always; only a batch that
 * waited long for its database has clicks of one person that are further apart.
 */
export function roundsOf(batch: readonly Activity[]): readonly (readonly Activity[])[] {
  const last = new Map<bigint, { round: number; cameAt: number }>();
  const rounds: Activity[][] = [];
  for (const activity of batch) {
    const { linkNo, cameAt, recipient } = activity;
    const before = last.get(recipient.subscriberId);
    let round = before?.round ?? 0;
    if (linkNo !== null && cameAt !== undefined) {
      if (before && cameAt - before.cameAt > RUN_GAP_MS) round++;
      last.set(recipient.subscriberId, { round, cameAt });
    }
    (rounds[round] ??= []).push(activity);
  }
  return rounds;
}
