/** Changes of HTML that vendors need who take a message in parts. */
import { escapeHtml } from '../lib/html.ts';

/** A page that shows a text as it is written, for vendors that take no message without HTML. */
export function htmlOfText(text: string): string {
  return `<!doctype html><html><body><div style="white-space:pre-wrap;font-family:sans-serif">${escapeHtml(text)}</div></body></html>`;
}

/**
 * Writes opening braces, where `pattern` finds them, so that a vendor's template language does not see them and a reader does: as entities,
 * and in style sheets, which know none, with a space after them.
 */
export function hideBraces(html: string, pattern: RegExp): string {
  // Only letters of ASCII: others may change the length.
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const written: string[] = [];
  let at = 0;
  while (at < html.length) {
    const style = endOrLength(lower.indexOf('<style', at), html);
    const end = endOrLength(lower.indexOf('</style', style), html);
    written.push(html.slice(at, style).replace(pattern, '&#123;'), html.slice(style, end).replace(pattern, '{ '));
    at = end;
  }
  return written.join('');
}

function endOrLength(index: number, { length }: string): number {
  return index < 0 ? length : index;
}
