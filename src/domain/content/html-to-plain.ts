/** Makes the plain text of a message that has only html. */
import { compile, type FormatCallback } from 'html-to-text';
import { withoutTrailing } from '../../lib/without-trailing.ts';
import { HTML_BYTES_MAX } from './message.ts';
import { cleanAddress } from './web-address.ts';

type Walk = Parameters<FormatCallback>[1];
type Builder = Parameters<FormatCallback>[2];
type Children = Parameters<Walk>[0];

/** The longest html, with the marks of its merge tags and the footer of the plan. */
const INPUT_LENGTH_MAX = 2 * HTML_BYTES_MAX;
/** Some editors nest a table for every box; deeper nesting is an attack on the stack. */
const DEPTH_MAX = 1_200;
/** Filler after a preheader, which keeps the rest of the message out of the list of mails: at least so much. */
const FILLER = /[\u034f \u00a0\u00ad\u2007\u200b-\u200f\u2060\ufeff]{8,}/g;

/** A picture becomes its alternative text. */
const alternativeText: FormatCallback = (element, _walk, builder) => {
  const text: unknown = element.attribs?.alt;
  if (typeof text === 'string') builder.addInline(text);
};

/** Characters around a bare address, so that its neighbours do not become part of it. Noncharacters, so no text has them. */
const BARE_BEGINS = '\ufffe';
const BARE_ENDS = '\uffff';
const NEEDS_SPACE = /(?<=[^\s\uffff])\ufffe|\uffff(?=[^\s.,;:!?)\]])/g;
const BARE_MARKS = /[\ufffe\uffff]/g;

/** The text of a link, then its address in brackets. A picture without text becomes its address. */
const link: FormatCallback = (element, walk, builder) => {
  const href: unknown = element.attribs?.href;
  const target = typeof href === 'string' ? shownTarget(cleanAddress(href)) : '';
  const words = wordsWhile(builder, () => walk(element.children, builder));
  if (target === '') return;
  if (words === '') builder.addInline(BARE_BEGINS + target + BARE_ENDS, { noWordTransform: true });
  else if (isTarget(words, target)) builder.addInline(BARE_ENDS, { noWordTransform: true });
  else builder.addInline(` [${target}]`, { noWordTransform: true });
};

/** For a link to a mailbox, its address; empty for a place in the page or a script. */
function shownTarget(href: string): string {
  const mailbox = /^mailto:([^?]*)/i.exec(href)?.[1];
  return mailbox ?? (/^(?:#|javascript:)/i.test(href) ? '' : href);
}

/** The text of a link is compared with its address; a longer text is no address. */
const LINK_TEXT_LENGTH_MAX = 4_096;
let linkWords: string[] | undefined;

/** The words that `write` writes, up to the limit. */
function wordsWhile(builder: Builder, write: () => void): string {
  if (linkWords !== undefined) {
    // A link inside a link, which browsers do not know. The outer one collects already, and each collector costs time per word.
    const from = linkWords.length;
    write();
    return wordsFrom(linkWords, from);
  }
  const words: string[] = [];
  linkWords = words;
  builder.pushWordTransform((word) => {
    words.push(word);
    return word;
  });
  try {
    write();
  } finally {
    builder.popWordTransform();
    linkWords = undefined;
  }
  return wordsFrom(words, 0);
}

function wordsFrom(words: readonly string[], from: number): string {
  let text = '';
  for (let at = from; at < words.length && text.length <= LINK_TEXT_LENGTH_MAX; at += 1) text += words[at];
  return text;
}

function isTarget(words: string, target: string): boolean {
  return words === target || (/^tel:/i.test(target) && digitsOf(words) === digitsOf(target));
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}

/**
 * Beyond so many levels, quotations and lists are not indented: every level adds its sign to each line, so the length of the text
 * would be depth times lines.
 */
const INDENTS_MAX = 12;
let indents = 0;

/** The library's format for the outer levels; inner ones get their content only. */
function indented(format: 'blockquote' | 'unorderedList' | 'orderedList'): FormatCallback {
  return (element, walk, builder, options) => {
    indents += 1;
    try {
      const formatter = indents <= INDENTS_MAX ? builder.options.formatters?.[format] : undefined;
      if (formatter) formatter(element, walk, builder, options);
      else writeBlock(element.children, walk, builder);
    } finally {
      indents -= 1;
    }
  };
}

/** An item of a list without indentation is a line of its own. */
const listItem: FormatCallback = (element, walk, builder) => {
  if (indents <= INDENTS_MAX) walk(element.children, builder);
  else writeBlock(element.children, walk, builder);
};

function writeBlock(children: Children, walk: Walk, builder: Builder): void {
  builder.openBlock();
  walk(children, builder);
  builder.closeBlock();
}

const convert = compile({
  wordwrap: false,
  formatters: {
    alternativeText,
    link,
    listItem,
    quotation: indented('blockquote'),
    bulletList: indented('unorderedList'),
    numberedList: indented('orderedList'),
  },
  limits: { maxDepth: DEPTH_MAX, maxInputLength: INPUT_LENGTH_MAX },
  selectors: [
    { selector: 'a', format: 'link' },
    { selector: 'img', format: 'alternativeText' },
    { selector: 'blockquote', format: 'quotation' },
    { selector: 'ul', format: 'bulletList' },
    { selector: 'ol', format: 'numberedList' },
    { selector: 'li', format: 'listItem' },
    // Table cells: their texts are not joined into one word.
    ...['td', 'th'].map((selector) => ({ selector, format: 'inlineSurround', options: { suffix: ' ' } })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/** The text of a marked html; marks survive, so merge tags work in it as in the html. */
export function htmlToPlain(html: string): string {
  return convert(html)
    .replace(NEEDS_SPACE, ' ')
    .replace(BARE_MARKS, '')
    .replace(FILLER, (filler) => (/[^ ]/.test(filler) ? ' ' : filler))
    .replaceAll('\u00a0', ' ')
    .split('\n')
    .map((line) => withoutTrailing(line, / /))
    .join('\n')
    .trim();
}
