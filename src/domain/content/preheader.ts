/**
 * The preheader: a text that mail programs show behind the subject in their lists of mails, because it stands at the beginning
 * of the html. Who opens the message does not see it.
 */
import { escapeHtml } from '../../lib/html.ts';
import { fillText, type Segment } from './fill-scope.ts';
import { findHtmlPlaces } from './html-places.ts';
import { addPiece, type MarkedText } from './template-marks.ts';

/** Characters that lists show at most; a shorter preheader is padded, or the first words of the body would follow it. */
const SHOWN_LENGTH_MAX = 150;
/** Has the width of a character and shows nothing: spaces would be joined without the mark between them. */
const FILLER = '&zwnj;&nbsp;';
/** Several ways to say it, because no mail program knows them all; the last is for Outlook on Windows. */
const HIDDEN = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all';
/** What stands before the body of a page. */
const HEAD_ELEMENT = /^(?:html|head|title|base|link|meta|style|script|noscript)$/i;

/** The html with a place for the preheader at the beginning of its body; html and preheader with their templates marked. */
export function withPreheader(html: MarkedText, preheader: MarkedText): MarkedText {
  if (preheader.text.trim() === '') return html;
  const place = addPiece(html.pieces, { kind: 'insert', segment: { kind: 'insert', name: 'preheader' } });
  const at = bodyStart(html.text);
  return { ...html, text: html.text.slice(0, at) + place + html.text.slice(at) };
}

/** What stands in that place: nothing for whom the preheader comes to nothing. */
export function hiddenPreheader(segments: readonly Segment[]): Segment {
  if (segments.every((segment) => typeof segment === 'string')) return hidden(segments.join(''));
  return (scope) => hidden(fillText(segments, scope));
}

function hidden(text: string): string {
  const shown = text.trim();
  if (shown === '') return '';
  const filler = FILLER.repeat(Math.max(0, SHOWN_LENGTH_MAX - shown.length));
  return `<div style="${HIDDEN}">${escapeHtml(shown)}${filler}</div>`;
}

/** Behind `<body>`, else before the first element of the body; at the beginning when there is no head. */
function bodyStart(html: string): number {
  const { names, attributes } = findHtmlPlaces(html);
  const elements = names.filter(({ start }) => html[start - 1] === '<');
  const nameOf = ({ start, end }: { start: number; end: number }) => html.slice(start, end);
  const body = elements.find((name) => nameOf(name).toLowerCase() === 'body');
  if (body) return tagEnd(html, body.end, attributes);
  const hasHead = /^\s*<!doctype/i.test(html) || elements.some((name) => HEAD_ELEMENT.test(nameOf(name)));
  if (!hasHead) return 0;
  const first = elements.find((name) => !HEAD_ELEMENT.test(nameOf(name)));
  return first ? first.start - 1 : html.length;
}

/** Behind the `>` of the tag whose name ends at `from`: one in the value of an attribute does not end it. */
function tagEnd(html: string, from: number, attributes: readonly { readonly start: number; readonly end: number }[]) {
  let end = html.indexOf('>', from);
  for (const attribute of attributes)
    if (attribute.start > from && attribute.start <= end && end < attribute.end) end = html.indexOf('>', attribute.end);
  return end === -1 ? html.length : end + 1;
}
