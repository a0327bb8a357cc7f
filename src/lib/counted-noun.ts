/** Numbers with what they count: `1 list`, `5 lists`. */

/** What is counted, for one and for more: `['list', 'lists']`. */
export type CountedNoun = readonly [one: string, more: string];

/** `1 list`, `5 lists`. */
export function countOf(number: number | bigint, [one, more]: CountedNoun): string {
  return `${number} ${Number(number) === 1 ? one : more}`;
}
