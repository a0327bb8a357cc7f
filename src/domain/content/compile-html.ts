/** The html part: merge tags by their place, tracked links, footer and pixel; all else stays byte for byte. */
import { escapeHtml } from '../../lib/html.ts';
import { compileText, type TextCompiler } from './compile-text.ts';
import { addressSlot, mailOrPage, type Segment } from './fill-scope.ts';
import { htmlFooter } from './footer.ts';
import { findHtmlPlaces, placePieces, type HtmlAttribute } from './html-places.ts';
import type { LinkBook } from './link-book.ts';
import type { MessageSource } from './message.ts';
import { addPiece, piecesIn, type MarkedText } from './template-marks.ts';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Outlook for Windows draws buttons with VML, whose shapes are links: `v:roundrect` and the like. */
const LINK_ELEMENT = /^(?:a|area|v:[a-z]+)$/;

/** Compiles the html of a message. Throws ValidationError on `html` when its Liquid does not parse. */
export async function compileHtml(
  marked: MarkedText,
  options: { source: MessageSource; texts: TextCompiler; book: LinkBook; withFooter: boolean },
): Promise<Segment[]> {
  const { source, texts, book, withFooter } = options;
  const places = findHtmlPlaces(marked.text);
  placePieces(marked, places);
  const edits = places.attributes.flatMap((attribute) =>
    attributeEdits(attribute, marked, source.trackClicks ? book : undefined),
  );
  const ending = (withFooter ? htmlFooter(source, marked) : '') + (source.trackOpens ? pixel(marked) : '');
  if (ending !== '') edits.push({ start: places.bodyEnd, end: places.bodyEnd, text: places.closing + ending });
  return compileText({ ...marked, text: applyEdits(marked.text, edits) }, texts);
}

function attributeEdits(attribute: HtmlAttribute, marked: MarkedText, book: LinkBook | undefined): Edit[] {
  const { element, name, start, end, isQuoted, value } = attribute;
  const isLink = name === 'href' && LINK_ELEMENT.test(element);
  const raw = marked.text.slice(start, end);
  const tracked = isLink ? book?.track(value, marked) : undefined;
  const text = tracked ?? raw;
  // A value could leave an attribute that has no quotes, so it gets some.
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
  const address = addressSlot({ kind: 'open' }, escapeHtml, (scope) => scope.recipient.links.open());
  const segment = mailOrPage(['<img src="', address, '" width="1" height="1" alt="" border="0">'], '');
  return addPiece(marked.pieces, { kind: 'insert', segment });
}
