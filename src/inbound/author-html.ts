/**
 * Html that a customer wrote, as a page or in a frame. It is treated as hostile: without scripts, forms or our origin. Pictures,
 * fonts and styles may come from anywhere, as in a mail program.
 */
import type { ServerResponse } from 'node:http';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { escapeHtml } from '../lib/html.ts';

/** Origins whose pages may show ours in a frame, besides those of the page's own origin: `https://app.example`. */
export type Framers = readonly string[];

/** Sends the answer under the policy, to frames of our own pages and of `framers` only. */
export function allowFraming(res: ServerResponse, policy: string, framers: Framers): void {
  res.setHeader('Content-Security-Policy', `${policy}; frame-ancestors ${["'self'", ...framers].join(' ')}`);
  // The older header knows no list of origins; browsers ignore it beside `frame-ancestors`.
  if (framers.length > 0) res.removeHeader('X-Frame-Options');
  else res.setHeader('X-Frame-Options', 'SAMEORIGIN');
}

/** Tokens of the sandbox: links open new windows, by a click only; nothing else leaves the frame. */
export const LINKS_OUT = 'allow-popups allow-popups-to-escape-sandbox';

/** What such html may load, and where its links lead; `links` are tokens of the sandbox. */
export function authorPolicy(links: string): string {
  return (
    `sandbox ${links}; default-src 'none'; img-src https: http: data:; media-src https: http:; ` +
    "font-src https: http: data:; style-src 'unsafe-inline' https: http:; form-action 'none'; base-uri 'none'"
  );
}

const LINK = /<(?:a|area)(?=\s)/gi;
/** A link to a place in the same message. */
const PLACE_LINK = /^<[^<>]*?\shref\s{0,9}=\s{0,9}["']?#/i;
/** The address may stand behind other attributes. */
const TAG_LENGTH_SEEN_MAX = 2_000;

/** Characters between which other requests run: of the worst html, a million links without anything, they take 10 ms. */
const PIECE_LENGTH = 65_536;

type LinkTarget = '_top' | '_blank';

/**
 * The html with all links leading into the window `target`, except those to places within it, and without what overrules
 * `no-referrer`. Of equal attributes the first counts. Lets other work run in between.
 */
export async function linksInto(target: LinkTarget, html: string): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < html.length;) {
    if (from > 0) await afterOthers();
    // No pattern reaches beyond the beginning of the next tag.
    const end = html.indexOf('<', from + PIECE_LENGTH);
    const to = end === -1 ? html.length : end;
    pieces.push(pieceInto(target, html.slice(from, to)));
    from = to;
  }
  return pieces.join('');
}

function pieceInto(target: LinkTarget, html: string): string {
  return withoutReferrer(html).replace(LINK, (start, offset: number, whole: string) => {
    const isPlace = PLACE_LINK.test(whole.slice(offset, offset + TAG_LENGTH_SEEN_MAX));
    return `${start} target="${isPlace ? '_self' : target}"`;
  });
}

/**
 * The name of an attribute, or of a function of CSS. Names of attributes have no character references, so each is found. The
 * html in `srcdoc` has them, and could hide one.
 */
const REFERRER_NAME = /(?<=[\s/"'])(?:referrer(?=policy\s*=)|src(?=doc\s*=))|referrer(?=-policy\()/gi;
/** Invisible in a text, and part of a name. */
const WORD_JOINER = '\u2060';
const META = /<meta(?=[\s/>])/gi;
/** The first name counts. */
const HARMLESS_META = /^<meta\s{1,9}name\s?=\s?"(?:viewport|color-scheme|supported-color-schemes)"/i;
const META_LENGTH_SEEN_MAX = 100;

/**
 * The html without what overrules `Referrer-Policy: no-referrer`: the addresses of previews and web views open them, so they must
 * not be sent to the hosts of pictures.
 */
function withoutReferrer(html: string): string {
  return html
    .replace(REFERRER_NAME, (start) => start + WORD_JOINER)
    .replace(META, (start, offset: number, whole: string) => {
      const isHarmless = HARMLESS_META.test(whole.slice(offset, offset + META_LENGTH_SEEN_MAX));
      return isHarmless ? start : `${start} name=other`;
    });
}

/** Plain text as a page of its own. */
export function plainTextPage(text: string): string {
  return `<!doctype html><html><head><title>Message</title></head><body><pre style="white-space:pre-wrap;overflow-wrap:anywhere;font:16px/1.5 sans-serif">${escapeHtml(text)}</pre></body></html>`;
}
