/** How an author's web address is spelled, so that it is the same link wherever it stands. */
const WEB_HOST = /^https?:\/\/[^/?#]+/i;
/** Ends an address in plain-links.ts; a backslash is a slash to browsers and stays. */
const ENDS_BARE = /["'<>[\]^`{|}]/g;

/**
 * As browsers read an address: no white space around it, no line breaks or tabs in it, spaces encoded. So is, behind the
 * host, what would end it where it stands bare in a text: it is one link, in the html and in the text that is made of it.
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

/** Letters beyond ASCII are encoded, so that the address can stand in any header; marks are kept. */
export function asciiAddress(url: string): string {
  return url.toWellFormed().replace(/[^\x21-\x7e\ufdd0-\ufdef]+/g, (run) => encodeURIComponent(run));
}
