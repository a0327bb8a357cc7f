/**
 * Writes CSV (RFC 4180) that is safe to open in a spreadsheet: a cell that would be a formula gets an apostrophe before it, which
 * the import removes again.
 */

/**
 * Characters with which spreadsheets begin a formula; some skip tab and carriage return first. Apostrophes of the text's own
 * before such a character get one more, so that removing one restores the text.
 */
const FORMULA = /^'*[=+\-@\t\r\0]/;
const GUARDED = /^'+[=+\-@\t\r\0]/;
// Readers drop blanks at the ends unless they are quoted.
const NEEDS_QUOTES = /[",;\r\n\t]|^\s|\s$/;

/** One line, its end included. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** A cell without the apostrophe that made it safe, for the import of exported files. */
export function unguarded(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/** The cell for a text: `unguarded` makes it the text again. */
export function guarded(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = value ?? '';
  const safe = guarded(text);
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
