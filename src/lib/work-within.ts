/** Works on one item after the other until the time is over; a failed item does not stop the others. */

/** Returns how many items were done. An item that is started in time is finished. */
export async function workWithin<T>(
  msMax: number,
  items: readonly T[],
  { work, failed }: { work: (item: T) => Promise<unknown>; failed: (item: T, error: unknown) => void },
): Promise<number> {
  const deadline = performance.now() + msMax;
  let done = 0;
  for (const item of items) {
    if (performance.now() > deadline) break;
    try {
      await work(item);
      done += 1;
    } catch (error) {
      failed(item, error);
    }
  }
  return done;
}
