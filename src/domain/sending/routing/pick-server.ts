/**
 * Which of several servers carries the next batch: one that may send now, by weight; the others of a choice carry what
 * one in trouble would have carried, and one without a choice stands in for the one before it.
 */

/** A server that may carry the mail; without a weight it stands in for those at a place before its own. */
export interface Candidate {
  readonly weight: number | null;
  readonly place: number;
  /** Seconds for which it rests; 0: it may be used. */
  readonly restSeconds: number;
  /** Somebody tries at this moment whether it is well again. */
  readonly isTried: boolean;
  /** Its warm-up has stopped, or has used up the day. */
  readonly isFull: boolean;
}

/** The candidate for the next batch; `dice` is in 0..1. Where none may send now, the one that may first. */
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
