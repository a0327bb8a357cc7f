/** A run's verdicts as a table for people. */
import type { HistoryEvent } from './history.ts';
import type { Verdict } from './judge.ts';

/** Prints them, and how fast work went on after each death; answers whether all hold. */
export function printVerdicts(verdicts: readonly Verdict[], events: readonly HistoryEvent[]): boolean {
  for (const { row, promise, measured, holds } of verdicts) {
    console.log(`${holds ? 'holds ' : 'BROKEN'}  ${row.padEnd(14)} ${promise}: ${measured}`);
  }
  const resumed = events
    .flatMap((event) => (event.kind === 'resumed' ? [event.afterMs] : []))
    .toSorted((a, b) => a - b);
  const slowest = resumed.at(-1);
  if (slowest !== undefined) {
    const middle = resumed[Math.floor(resumed.length / 2)] ?? 0;
    console.log(
      `went on after a kill, start of the process included: median ${seconds(middle)}, at most ${seconds(slowest)}`,
    );
  }
  const disturbances = events.filter(({ kind }) => kind === 'killed' || kind === 'fault').length;
  console.log(`${disturbances} disturbances, ${verdicts.filter(({ holds }) => !holds).length} promises broken`);
  return verdicts.every(({ holds }) => holds);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
