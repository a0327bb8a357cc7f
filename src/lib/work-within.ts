/** Works on one item after the other until the time is over. */

/** Answers how many items were worked on: the first ones. The one at work when the time ends is finished. */
export async function workWithin<T>(
  msMax: number,
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<number> {
  const deadline = performance.now() + msMax;
  let done = 0;
  for (const item of items) {
    if (performance.now() > deadline) break;
    await work(item);
    done += 1;
  }
  return done;
}
