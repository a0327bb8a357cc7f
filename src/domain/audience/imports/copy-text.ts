/** PostgreSQL's text format for COPY: one line a row, tabs between the columns, four characters escaped. */
const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text as a column of a COPY row. */
export function copyText(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character) : text;
}

/** A list of texts as a column of a COPY row. */
export function copyTextArray(texts: readonly string[]): string {
  if (texts.length === 0) return '{}';
  return copyText(`{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`);
}
