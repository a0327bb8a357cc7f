/** Makes the plain text of a message that has only html. */
import { compile, type FormatCallback } from 'html-to-text';
import { cleanAddress } from './web-address.ts';

/** Some editors nest a table for every box; deeper than this is no layout but an attack on the stack. */
const DEPTH_MAX = 1_200;
/** What hides behind a preheader, so that no more of the message shows beside it in a list of mails: at least so much. */
const FILLER = /[\u034f \u00a0\u00ad\u2007\u200b-\u200f\u2060\ufeff]{8,}/g;

/** Of a picture, a reader of plain text gets the text that stands for it. */
const alternativeText: FormatCallback = (element, _walk, builder) => {
  const text: unknown = element.attribs?.alt;
  if (typeof text === 'string') builder.addInline(text);
};

const convert = compile({
  wordwrap: false,
  formatters: { alternativeText },
  limits: { maxDepth: DEPTH_MAX, maxInputLength: 1_500_000 },
  selectors: [
    {
      selector: 'a',
      options: { hideLinkHrefIfSameAsText: true, ignoreHref: false, noAnchorUrl: true, pathRewrite: cleanAddress },
    },
    { selector: 'img', format: 'alternativeText' },
    // Cells are side by side, their words are not one word.
    ...['td', 'th'].map((selector) => ({ selector, format: 'inlineSurround', options: { suffix: ' ' } })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/** The text of a marked html; marks survive, so merge tags work in it as they did in the html. */
export function htmlToPlain(html: string): string {
  return convert(html)
    .replace(FILLER, (filler) => (/[^ ]/.test(filler) ? ' ' : filler))
    .replaceAll('\u00a0', ' ')
    .replace(/ +$/gm, '')
    .trim();
}
