/** Arrays in PostgreSQL's text form, for hot statements: the client library's own conversion costs ten times as much. */

const NEEDS_ESCAPE = /["\\]/;

/** Of values that need no quotes: numbers, booleans, words of an enum. */
export function plainArray<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => bigint | number | boolean | Lowercase<string> | null,
): string {
  let text = '{';
  for (const row of rows) text += text === '{' ? (valueOf(row) ?? 'NULL') : `,${valueOf(row) ?? 'NULL'}`;
  return `${text}}`;
}

/** Of any texts. */
export function textArray<Row>(rows: readonly Row[], valueOf: (row: Row) => string | null | undefined): string {
  let text = '{';
  for (const row of rows) {
    if (text !== '{') text += ',';
    const value = valueOf(row) ?? null;
    if (value === null) text += 'NULL';
    else text += NEEDS_ESCAPE.test(value) ? `"${value.replace(/["\\]/g, String.raw`\$&`)}"` : `"${value}"`;
  }
  return `${text}}`;
}
