/** A run's verdicts as a table for people. */
import type { HistoryEvent } from './history.ts';
import type { Verdict } from './judge.ts';

/** Prints them, and how fast work went on after what; answers whether all hold. */
export function printVerdicts(verdicts: readonly Verdict[], events: readonly HistoryEvent[]): boolean {
  for (const { row, promise, measured, holds } of verdicts) {
    console.log(`${holds ? 'holds ' : 'BROKEN'}  ${row.padEnd(14)} ${promise}: ${measured}`);
  }
  const resumed = Map.groupBy(
    events.filter((event) => event.kind === 'resumed'),
    ({ since }) => since,
  );
  for (const [since, times] of resumed) {
    const sorted = times.map(({ afterMs }) => afterMs).toSorted((a, b) => a - b);
    const [middle = 0, slowest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    console.log(`after ${since}: median ${seconds(middle)}, at most ${seconds(slowest)}, ${sorted.length} times`);
  }
  const disturbances = events.filter(({ kind }) => kind === 'killed' || kind === 'fault').length;
  console.log(`${disturbances} disturbances, ${verdicts.filter(({ holds }) => !holds).length} promises broken`);
  return verdicts.every(({ holds }) => holds);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
