/**
 * SparkPost's template language. It can be switched off for the texts of a message, not for its headers: so what it would read in a header
 * is handed over as values that it fills in. A value is not read again.
 */

/** Two or more: one alone means nothing. A run is replaced as a whole, or a brace beside it would become part of the next. */
const BRACES = /[{}]{2,}/g;
const NAME = 'mailwright_braces_';
const HEADERS_END = '\r\n\r\n';

export interface EscapedMessage {
  readonly content: string;
  /** Undefined: there is nothing to fill in. */
  readonly values: Readonly<Record<string, string>> | undefined;
}

/**
 * In encoded words braces of base64 and `=7B` stay as they are: the documents do not say whether SparkPost decodes them before it looks for
 * names. If it does, such a subject loses them.
 */
export function escapeHeaders(message: string): EscapedMessage {
  const end = message.indexOf(HEADERS_END);
  const headers = end < 0 ? message : message.slice(0, end);
  const names = new Map<string, string>();
  const escaped = headers.replace(BRACES, (braces) => {
    const name = names.get(braces) ?? `${NAME}${names.size + 1}`;
    names.set(braces, name);
    return `{{${name}}}`;
  });
  if (names.size === 0) return { content: message, values: undefined };
  const values = Object.fromEntries([...names].map(([braces, name]) => [name, braces]));
  return { content: escaped + message.slice(headers.length), values };
}
