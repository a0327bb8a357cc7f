/**
 * Picks the server for the next batch: one that may send now, by weight; the others of a choice take over the share of one in
 * trouble, and without a choice the next one replaces it.
 */

/** A server that may carry the mail; without a weight it replaces those at an earlier place. */
export interface Candidate {
  readonly weight: number | null;
  readonly place: number;
  /** Seconds of its pause; 0: it may be used. */
  readonly restSeconds: number;
  /** Another process is trying whether it has recovered. */
  readonly isTried: boolean;
  /** Its warm-up has stopped, or the day is used up. */
  readonly isFull: boolean;
}

/** The candidate for the next batch; `dice` is in 0..1. If none may send now, the one that may first. */
export function pickServer<Server extends Candidate>(candidates: readonly Server[], dice: number): Server | undefined {
  const ready = candidates.filter((server) => server.restSeconds <= 0 && !server.isTried && !server.isFull);
  const [first] = ready;
  if (!first) return candidates.toSorted(soonest)[0];
  if (first.weight === null) return first;
  let left = dice * ready.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  return ready.find(({ weight }) => (left -= weight ?? 0) < 0) ?? first;
}

function soonest(a: Candidate, b: Candidate): number {
  return Number(a.isFull) - Number(b.isFull) || a.restSeconds - b.restSeconds || a.place - b.place;
}
