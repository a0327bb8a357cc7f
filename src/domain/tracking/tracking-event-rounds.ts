/** Splits a batch in which clicks of one recipient are too far apart for one click burst. */
import { BURST_GAP_MS, type TrackingEvent } from './tracking-event.ts';

/**
 * One statement treats all clicks of a recipient in it as one burst. Nearly always that is one round; only a batch that waited
 * long for the database has clicks of one person that are further apart.
 */
export function roundsOf(batch: readonly TrackingEvent[]): readonly (readonly TrackingEvent[])[] {
  return isShort(batch) ? [batch] : split(batch);
}

function isShort(batch: readonly TrackingEvent[]): boolean {
  let first = Infinity;
  let last = -Infinity;
  for (const { cameAt = 0 } of batch) {
    first = Math.min(first, cameAt);
    last = Math.max(last, cameAt);
  }
  return last - first <= BURST_GAP_MS;
}

function split(batch: readonly TrackingEvent[]): readonly (readonly TrackingEvent[])[] {
  const last = new Map<bigint, { round: number; cameAt: number }>();
  const rounds: TrackingEvent[][] = [];
  for (const trackingEvent of batch) {
    const { linkNo, cameAt, recipient } = trackingEvent;
    const before = last.get(recipient.recipientId);
    let round = before?.round ?? 0;
    if (linkNo !== null && cameAt !== undefined) {
      if (before && cameAt - before.cameAt > BURST_GAP_MS) round++;
      last.set(recipient.recipientId, { round, cameAt });
    }
    (rounds[round] ??= []).push(trackingEvent);
  }
  return rounds;
}
