/** Medians, which one slow round does not move. */

/** The upper middle of an even number of figures; NaN of none. */
export function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

/** Milliseconds that `act` takes: the median of so many rounds, one after the other. */
export async function medianMs(rounds: number, act: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    await act();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}
