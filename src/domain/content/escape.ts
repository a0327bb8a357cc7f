/** Makes a recipient's value safe for each place where a template may put it. */
import { escapeHtml } from '../../lib/html.ts';

/**
 * - `html`: text or quoted attribute; `plain`: plain text; `header`: a header's text
 * - `urlPart`: inside an address; `urlStart`: the beginning of one, the scheme included (html attribute)
 * - `name`: the name of an element or attribute
 */
export type Escape = 'html' | 'plain' | 'header' | 'urlPart' | 'urlStart' | 'name';

/** The length limit of one value in an address, so that no link is longer than browsers and servers accept. */
const URL_VALUE_LENGTH_MAX = 2_000;

// Controls that have no business in text: C0 but tab, LF and CR; DEL; C1 (U+0085 among them); the noncharacters
// that mark slots while a template is compiled.
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef]/g;
/** Characters that a reader might take for the end of a header line, and all other controls. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const HEADER_BREAKS = /[\0-\x1f\x7f-\x9f\u2028\u2029\ufdd0-\ufdef]+/g;
/** Text that is safe everywhere except in html and addresses. This test is faster than a search that finds nothing. */
const PRINTABLE_ASCII = /^[ -~]*$/;
const SAFE_SCHEME = /^(?:https?:|mailto:|tel:|sms:)/i;
const SCHEME = /^[^/?#]*:/;

/** Removes controls and lone surrogates; the result is safe to encode. */
export function cleanText(value: string): string {
  if (PRINTABLE_ASCII.test(value)) return value;
  return value.toWellFormed().replace(CONTROLS, '');
}

/** One line of text for a header: every run of controls and line breaks becomes one space. */
export function headerText(value: string): string {
  if (PRINTABLE_ASCII.test(value)) return value;
  return value.toWellFormed().replace(HEADER_BREAKS, ' ');
}

/** Percent-encodes a value for use inside an address (RFC 3986 2.1). */
export function urlPart(value: string): string {
  if (value === lastPart.value) return lastPart.encoded;
  const text = cleanText(value.slice(0, URL_VALUE_LENGTH_MAX)).trim().toWellFormed();
  lastPart = { value, encoded: encodeURIComponent(text).replaceAll("'", '%27') };
  return lastPart.encoded;
}

/** All links of one recipient often contain the same value. */
let lastPart = { value: '', encoded: '' };

/** A value as a whole address: schemes other than the few that mails need are refused and replaced by `#`. */
export function safeUrl(value: string): string {
  const url = cleanText(value.slice(0, URL_VALUE_LENGTH_MAX)).replace(/\s+/g, '').toWellFormed();
  return SAFE_SCHEME.test(url) || !SCHEME.test(url) ? url : '#';
}

/** `value` made safe for the place that `escape` names. */
export function escapeFor(escape: Escape, value: string): string {
  switch (escape) {
    case 'html':
      return escapeHtml(cleanText(value));
    case 'plain':
      return cleanText(value);
    case 'header':
      return headerText(value);
    case 'urlPart':
      return urlPart(value);
    case 'urlStart':
      return escapeHtml(safeUrl(value));
    case 'name':
      return value.replace(/[^A-Za-z0-9_-]/g, '');
  }
}
