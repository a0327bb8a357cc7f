/** Time and cost as tests may ask for them: whatever runs them does other things too, all of them at once. */

/** What is promised to take no longer, on a machine that is three times as slow. */
export const onBusyMachine = (ms: number): number => 3 * ms;

/** Processor time of this process in milliseconds, of the cheapest of three times: the others paid for something else. */
export async function cheapestOfThree(work: (time: number) => unknown): Promise<number> {
  const costs: number[] = [];
  for (let time = 0; time < 3; time++) {
    const before = process.cpuUsage();
    await work(time);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1_000);
  }
  return Math.min(...costs);
}
