/** Works on one item after the other until the time is over; an item that fails keeps none of the others waiting. */

/** Answers how many items were done. The one at work when the time ends is finished. */
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
