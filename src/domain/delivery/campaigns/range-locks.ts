/**
 * The ranges of the ledger on which this process works. A row that a job has only read may be marked by that job alone within its
 * process: to the ledger they are one worker, which may repeat a mark. So two jobs of one worker never work on the same people at
 * the same time, however often a job was enqueued.
 */
import type { LedgerRange } from '../ledger/delivery.ts';

type Ids = Pick<LedgerRange, 'fromId' | 'toId'>;

/** Another job of the worker is at work there; `isCovered`: with the whole range, so it takes care of everything left open. */
export interface Refused {
  readonly isCovered: boolean;
}

export class HeldRanges {
  readonly #held = new Map<string, Ids[]>();

  /** Locks the range for the worker, and returns a function that unlocks it; or what holds it already. */
  hold(workerId: string, range: LedgerRange): (() => void) | Refused {
    const key = `${workerId}:${range.sourceKind}:${range.sourceId}`;
    const ranges = this.#held.get(key) ?? [];
    const others = ranges.filter(({ fromId, toId }) => fromId <= range.toId && range.fromId <= toId);
    if (others.length > 0)
      return { isCovered: others.some(({ fromId, toId }) => fromId <= range.fromId && range.toId <= toId) };
    ranges.push(range);
    this.#held.set(key, ranges);
    return () => {
      ranges.splice(ranges.indexOf(range), 1);
      if (ranges.length === 0) this.#held.delete(key);
    };
  }
}
