/**
 * Writing CSV (RFC 4180) that is safe to open in a spreadsheet: a cell that would be taken for a formula gets an
 * apostrophe before it, which the import of people takes off again.
 */

/**
 * What spreadsheets begin a formula with; tab and carriage return are skipped by some before they look. Apostrophes
 * that are the text's own count too: one more goes before them, and one comes off when the text comes back.
 */
const FORMULA = /^'*[=+\-@\t\r\0]/;
const GUARDED = /^'+[=+\-@\t\r\0]/;
// Blanks at the ends are dropped by readers unless they are quoted.
const NEEDS_QUOTES = /[",;\r\n\t]|^\s|\s$/;

/** One line, its end included. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** A cell as it was before it was made safe: what reads files that people export takes the apostrophe off again. */
export function unguarded(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = value ?? '';
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
