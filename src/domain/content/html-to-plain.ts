/** Makes the plain text of a message that has only html. */
import { compile, type FormatCallback } from 'html-to-text';

/** Deeper nesting than this is no layout but an attack on the stack. */
const DEPTH_MAX = 200;

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
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false, noAnchorUrl: true } },
    { selector: 'img', format: 'alternativeText' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/** The text of a marked html; marks survive, so merge tags work in it as they did in the html. */
export function htmlToPlain(html: string): string {
  return convert(html).trim();
}
