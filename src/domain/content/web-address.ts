/** Normalises the spelling of an author's web address, so that the same link is recognised everywhere. */
const WEB_HOST = /^https?:\/\/[^/?#]+/i;
/** Characters that end an address in plain-links.ts; a backslash is a slash to browsers and stays. */
const ENDS_BARE = /["'<>[\]^`{|}]/g;

/**
 * As browsers read an address: no surrounding white space, no line breaks or tabs, spaces encoded. After the host, characters
 * that would end it as a bare address in a text are encoded too: it is one link, in the html and in the text made from it.
 */
export function cleanAddress(address: string): string {
  const clean = address
    .trim()
    .replace(/[\t\r\n]/g, '')
    .replaceAll(' ', '%20');
  const host = WEB_HOST.exec(clean)?.[0];
  return host === undefined ? clean : host + clean.slice(host.length).replace(ENDS_BARE, percentEncoded);
}

function percentEncoded(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Non-ASCII letters are encoded, so that the address fits into any header; marks are kept. */
export function asciiAddress(url: string): string {
  return url.toWellFormed().replace(/[^\x21-\x7e\ufdd0-\ufdef]+/g, (run) => encodeURIComponent(run));
}
