/** Which of the words that are known somebody who wrote another one meant. */

/** Beyond this nobody has mistyped a word, and comparing takes time. */
const LENGTH_COMPARED = 40;

/** The word that takes the fewest letters to change, add or leave out to get from `given` to it; the first of several. */
export function nearestWord(given: string, words: readonly string[]): string | undefined {
  const text = given.slice(0, LENGTH_COMPARED).toLowerCase();
  const distances = words.map((word) => lettersBetween(text, word));
  return words[distances.indexOf(Math.min(...distances))];
}

function lettersBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, length) => length);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= other.length; at++) {
      const changed = (row[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
