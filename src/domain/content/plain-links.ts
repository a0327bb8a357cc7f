/** Finds bare web addresses in plain text and tracks them. */
import { withoutTrailing } from '../../lib/without-trailing.ts';
import type { LinkBook } from './link-book.ts';
import { piecesIn, type MarkedText } from './template-marks.ts';

const BARE_URL = /https?:\/\/[^\s<>"'[\]{}|\\^`]+/gi;
/** Punctuation directly after an address is not part of it. */
const TRAILING = /[.,;:!?)*]/;
const BLOCK = /^(?:if|unless|case|for|tablerow|capture|comment|raw)$/;
const BELONGS_TO_BLOCK = /^(?:end\w*|else|elsif|when)$/;

/** The text with a tracked slot in place of each address. */
export function trackPlainLinks(marked: MarkedText, book: LinkBook): MarkedText {
  const text = marked.text.replace(BARE_URL, (match) => {
    const url = balanced(beforeControl(match, marked));
    const slot = book.track(url, marked);
    return slot === undefined ? match : slot + match.slice(url.length);
  });
  return { ...marked, text };
}

/**
 * A closing Liquid tag belongs to the text when its block began before the address, as in `{% if x %}https://example.com{% endif
 * %}`; a block that begins and ends within the address belongs to it.
 */
function beforeControl(url: string, marked: MarkedText): string {
  const controls = piecesIn(url, marked.pieces).flatMap(({ piece, at }) => {
    return piece.kind === 'control' ? [{ at, tag: /\w+/.exec(piece.source)?.[0] ?? '' }] : [];
  });
  let depth = 0;
  for (const { at, tag } of controls) {
    if (depth === 0 && BELONGS_TO_BLOCK.test(tag)) return url.slice(0, at);
    if (BLOCK.test(tag)) depth += 1;
    if (tag.startsWith('end')) depth -= 1;
  }
  return depth === 0 ? url : url.slice(0, controls[0]?.at);
}

/** Cuts trailing punctuation, but keeps a closing bracket that the address opened. */
function balanced(url: string): string {
  const bare = withoutTrailing(url, TRAILING);
  return url.charAt(bare.length) === ')' && bare.split('(').length > bare.split(')').length ? `${bare})` : bare;
}
