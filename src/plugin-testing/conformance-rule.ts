/** What the rules of a conformance suite are made of. */

/** One rule of a contract. Works with every test runner: `for (const { name, check } of rules) test(name, check)`. */
export interface ConformanceRule {
  readonly name: string;
  /** Rejects with a sentence when the rule is broken. */
  readonly check: () => Promise<void>;
}

/** Throws the sentence unless it is so. */
export function requireThat(isSo: boolean, sentence: string): asserts isSo {
  if (!isSo) throw new Error(sentence);
}

/** Waits until it is so; throws the sentence after this time. */
export async function requireSoon(isSo: () => boolean, sentence: string, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!isSo()) {
    requireThat(performance.now() < deadline, sentence);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Rejects with the sentence when the promise has not ended by then. */
export async function endsWithin<T>(promise: Promise<T>, withinMs: number, sentence: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(sentence)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
