/** The plan of the plain text part: the author's own, or made from the html. */
import { footerNeeds, plainFooter } from './footer.ts';
import { htmlToPlain } from './html-to-plain.ts';
import type { LinkBook } from './link-book.ts';
import type { TagValues } from './merge-tags.ts';
import type { PlannedText, PlanSource } from './message-plan.ts';
import { withPlainFooter } from './plan-footer.ts';
import { planText } from './plan-text.ts';
import { trackPlainLinks } from './plain-links.ts';
import type { MarkedText } from './template-marks.ts';

/** The plan of a message's plain text, and whether only the postal address was added to the author's own. */
export function planPlain(
  source: PlanSource,
  parts: { plain: MarkedText; html: MarkedText; tags: TagValues; book: LinkBook },
): { readonly text: PlannedText; readonly addsAddress: boolean } {
  const isFromHtml = parts.plain.text.trim() === '';
  const text = isFromHtml ? fromHtml(parts.html) : parts.plain;
  const footed = source.kind === 'marketing' ? source.footer : undefined;
  const own = footed ? withPlainFooter(text, footed, { tags: parts.tags, isFromHtml }) : text;
  const tracked = source.trackClicks ? trackPlainLinks(own, parts.book) : own;
  const needs = footerNeeds(source, own, own.text);
  const footer = plainFooter(source, tracked, { needs, tags: parts.tags });
  return {
    text: planText({ ...tracked, text: tracked.text + footer }, parts.tags),
    addsAddress: !isFromHtml && needs.address && !needs.link,
  };
}

function fromHtml(html: MarkedText): MarkedText {
  const pieces = html.pieces.map((piece) => (piece.kind === 'insert' ? piece : { ...piece, escape: 'plain' as const }));
  return { part: 'plain', field: 'html', text: htmlToPlain(html.text), pieces, unknownTags: [] };
}
