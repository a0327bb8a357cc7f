/** The plain text part: the author's own, or one made from the html. */
import { compileText, type TextCompiler } from './compile-text.ts';
import type { Segment } from './fill-scope.ts';
import { hasUnsubscribeLink, plainFooter } from './footer.ts';
import { htmlToPlain } from './html-to-plain.ts';
import type { LinkBook } from './link-book.ts';
import type { MessageSource } from './message.ts';
import { withPlainFooter } from './plan-footer.ts';
import { trackPlainLinks } from './plain-links.ts';
import type { MarkedText } from './template-marks.ts';

/** Compiles the plain text of a message. Throws ValidationError on `plain` when its Liquid does not parse. */
export async function compilePlain(
  source: MessageSource,
  parts: { plain: MarkedText; html: MarkedText; texts: TextCompiler; book: LinkBook },
): Promise<Segment[]> {
  const isFromHtml = parts.plain.text.trim() === '';
  const text = isFromHtml ? fromHtml(parts.html) : parts.plain;
  const footed = source.kind === 'marketing' ? source.footer : undefined;
  const own = footed ? withPlainFooter(text, footed, { tags: parts.texts.tags, isFromHtml }) : text;
  const tracked = source.trackClicks ? trackPlainLinks(own, parts.book) : own;
  const needsFooter = source.kind === 'marketing' && !hasUnsubscribeLink(own);
  const footer = needsFooter ? plainFooter(source, tracked) : '';
  return compileText({ ...tracked, text: tracked.text + footer }, parts.texts);
}

function fromHtml(html: MarkedText): MarkedText {
  const pieces = html.pieces.map((piece) => (piece.kind === 'insert' ? piece : { ...piece, escape: 'plain' as const }));
  return { part: 'plain', field: 'html', text: htmlToPlain(html.text), pieces, unknownTags: [] };
}
