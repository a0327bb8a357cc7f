/**
 * The footer that the operator adds to every marketing mail of a customer's plan. It is the operator's text: merge tags are
 * filled in and links are tracked, but it is no template, so that no fault in it can stop a campaign.
 */
import { findHtmlPlaces } from './html-places.ts';
import { htmlToPlain } from './html-to-plain.ts';
import type { TagValues } from './merge-tags.ts';
import type { MessageFooter } from './message.ts';
import { addPiece, stripNoncharacters, type MarkedText } from './template-marks.ts';

const TAG_OR_LIQUID = /\{([A-Z][A-Z0-9_]{0,63})\}|\{\{|\}\}|\{%|%\}/g;

/** The html with the footer at the end of its body. */
export function withHtmlFooter(html: MarkedText, footer: MessageFooter, tags: TagValues): MarkedText {
  if (footer.html === '' || html.text.trim() === '') return html;
  const { bodyEnd, closing } = findHtmlPlaces(html.text);
  const marked = `${closing}\n${markFooter(html, { text: footer.html, escape: 'html', tags })}\n`;
  return { ...html, text: html.text.slice(0, bodyEnd) + marked + html.text.slice(bodyEnd) };
}

/** The plain text with the footer; a text that was made from html contains the html's footer already. */
export function withPlainFooter(
  plain: MarkedText,
  footer: MessageFooter,
  { tags, isFromHtml }: { tags: TagValues; isFromHtml: boolean },
): MarkedText {
  if (isFromHtml && footer.html !== '') return plain;
  const text = footer.plain === '' ? htmlToPlain(footer.html) : footer.plain;
  if (text === '') return plain;
  return { ...plain, text: `${plain.text}\n\n${markFooter(plain, { text, escape: 'plain', tags })}` };
}

/** The text with its merge tags marked, and nothing else of it: a stray brace stays what it is. */
export function markFooter(
  { pieces }: MarkedText,
  { text, escape, tags }: { text: string; escape: 'html' | 'plain'; tags: TagValues },
): string {
  return stripNoncharacters(text).replace(TAG_OR_LIQUID, (whole, name?: string) => {
    if (name === undefined) return addPiece(pieces, { kind: 'insert', segment: whole });
    return tags.has(name) ? addPiece(pieces, { kind: 'tag', name, escape }) : whole;
  });
}
