/**
 * Which ranges of the ledger this process is working on. A row that a job has only read may be marked by that job alone
 * among those of its process: to the ledger they are one worker, which may repeat a mark. So two jobs of one worker never
 * work on the same people at the same time, however often a job was enqueued.
 */
import type { LedgerRange } from './delivery.ts';

type Ids = Pick<LedgerRange, 'fromId' | 'toId'>;

const held = new Map<string, Ids[]>();

/** Holds the range for the worker; undefined: another of its jobs is at work there. Call what it answers to let go. */
export function holdRange(workerId: string, range: LedgerRange): (() => void) | undefined {
  const key = `${workerId}:${range.campaignId}`;
  const ranges = held.get(key) ?? [];
  if (ranges.some(({ fromId, toId }) => fromId <= range.toId && range.fromId <= toId)) return undefined;
  ranges.push(range);
  held.set(key, ranges);
  return () => {
    ranges.splice(ranges.indexOf(range), 1);
    if (ranges.length === 0) held.delete(key);
  };
}
