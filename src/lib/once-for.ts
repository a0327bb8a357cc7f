/** Questions that are asked several times in one piece of work, and have the same answer each time. */

/** Asks once for each key; an error is an answer, too. */
export function onceFor<Key, Answer>(ask: (key: Key) => Promise<Answer>): (key: Key) => Promise<Answer> {
  const known = new Map<Key, Promise<Answer>>();
  return (key) => {
    const before = known.get(key);
    if (before) return before;
    const answer = ask(key);
    known.set(key, answer);
    return answer;
  };
}
