/** The html part: merge tags by their place, tracked links, footer and pixel; all other bytes stay the same. */
import { footerNeeds, htmlFooter } from './footer.ts';
import { findHtmlPlaces, placePieces, type HtmlAttribute } from './html-places.ts';
import type { LinkBook } from './link-book.ts';
import type { TagValues } from './merge-tags.ts';
import type { PlannedText, PlanSource } from './message-plan.ts';
import { planText } from './plan-text.ts';
import { addPiece, piecesIn, type MarkedText } from './template-marks.ts';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Outlook for Windows draws buttons with VML, whose shapes are links: `v:roundrect` and the like. */
const LINK_ELEMENT = /^(?:a|area|v:[a-z]+)$/;

/** The plan of a message's html, and whether only the postal address was added to it. */
export function planHtml(
  marked: MarkedText,
  { source, tags, book }: { source: PlanSource; tags: TagValues; book: LinkBook },
): { readonly text: PlannedText; readonly addsAddress: boolean } {
  const places = findHtmlPlaces(marked.text);
  const needs = footerNeeds(source, marked, places.shownText);
  placePieces(marked, places);
  const edits = places.attributes.flatMap((attribute) =>
    attributeEdits(attribute, marked, source.trackClicks ? book : undefined),
  );
  const ending = htmlFooter(source, marked, { needs, tags }) + (source.trackOpens ? pixel(marked) : '');
  if (ending !== '') edits.push({ start: places.bodyEnd, end: places.bodyEnd, text: places.closing + ending });
  const text = planText({ ...marked, text: applyEdits(marked.text, edits) }, tags);
  return { text, addsAddress: needs.address && !needs.link };
}

function attributeEdits(attribute: HtmlAttribute, marked: MarkedText, book: LinkBook | undefined): Edit[] {
  const { element, name, start, end, isQuoted, value } = attribute;
  const isLink = name === 'href' && LINK_ELEMENT.test(element);
  const raw = marked.text.slice(start, end);
  const tracked = isLink ? book?.track(value, marked) : undefined;
  const text = tracked ?? raw;
  // A value could break out of an attribute without quotes, so quotes are added.
  const needsQuotes = !isQuoted && (tracked !== undefined || piecesIn(raw, marked.pieces).length > 0);
  if (needsQuotes) return [{ start, end, text: `"${text.replaceAll('"', '&quot;')}"` }];
  return tracked === undefined ? [] : [{ start, end, text }];
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let edited = '';
  let from = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    edited += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return edited + text.slice(from);
}

function pixel(marked: MarkedText): string {
  return addPiece(marked.pieces, { kind: 'insert', segment: { kind: 'insert', name: 'pixel' } });
}
