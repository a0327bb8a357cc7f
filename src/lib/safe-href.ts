/** Addresses that somebody else has chosen and our pages link to: a path of this installation, or an https address. Never `javascript:`. */

/** Longer addresses are cut off by some proxies. */
const LENGTH_MAX = 2_000;
/** Written as it is sent: no spaces, no backslash (browsers read it as a slash), no control characters, ASCII only. */
const PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;
const HTTPS = /^https:\/\/[\x21-\x5b\x5d-\x7e]+$/;
const ANY_ORIGIN = 'https://own.invalid';

/** Whether a browser takes the text for a path of the page's own site. */
export function isOwnPath(text: string): boolean {
  return text.length <= LENGTH_MAX && PATH.test(text) && URL.parse(text, ANY_ORIGIN)?.origin === ANY_ORIGIN;
}

/** Whether our pages may link to it. */
export function isSafeHref(text: string): boolean {
  if (isOwnPath(text)) return true;
  if (text.length > LENGTH_MAX || !HTTPS.test(text)) return false;
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}

/**
 * The path as a browser will ask for it, without query: `..` is resolved. Compare this with a prefix, never the text itself. Undefined:
 * it is no path of ours.
 */
export function pathWithin(text: string): string | undefined {
  if (!isOwnPath(text)) return undefined;
  const { pathname } = new URL(text, ANY_ORIGIN);
  // A server behind a proxy may decode once more.
  return /%2e|%2f|%5c/i.test(pathname) ? undefined : pathname;
}
