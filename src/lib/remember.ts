/** Remembers results of a pure function that costs more than a look-up. */

/** Answers as `work` does. Keeps at most `max` results; then it drops all of them, which is cheaper than keeping an order. */
export function remember<Answer extends boolean | string>(
  max: number,
  work: (question: string) => Answer,
): (question: string) => Answer {
  const known = new Map<string, Answer>();
  return (question) => {
    const before = known.get(question);
    if (before !== undefined) return before;
    const answer = work(question);
    if (known.size >= max) known.clear();
    known.set(question, answer);
    return answer;
  };
}
