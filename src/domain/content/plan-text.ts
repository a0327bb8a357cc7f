/** From a marked text to its plan. The library decides later which parts of a text with Liquid can vary. */
import { mergeStatic } from './fill-scope.ts';
import { neededTags } from './liquid-data.ts';
import type { Escape } from './escape.ts';
import type { TagValues } from './merge-tags.ts';
import type { PlannedSegment, PlannedText } from './message-plan.ts';
import { MARK_PATTERN, splitAtMarks, usesLiquid, type MarkedText, type Piece } from './template-marks.ts';

export function planText(marked: MarkedText, tags: TagValues): PlannedText {
  const pieces = marked.pieces.map(pieceSegment);
  if (!usesLiquid(marked.text, marked.pieces)) return { segments: mergeStatic(splitAtMarks(marked.text, pieces)) };
  const source = restoreLiquid(marked.text, marked.pieces);
  const liquid = { source, isHtml: marked.part === 'html', field: marked.field };
  return { liquid, pieces, tags: neededTags(tags, source) };
}

function pieceSegment(piece: Piece): PlannedSegment {
  if (piece.kind === 'insert') return piece.segment;
  return piece.kind === 'tag' ? { kind: 'tag', name: piece.name, escape: piece.escape } : '';
}

/** Puts Liquid back in its place, with the filter for that place; other marks stay. */
function restoreLiquid(text: string, pieces: readonly Piece[]): string {
  return text.replace(MARK_PATTERN, (mark, index: string) => {
    const piece = pieces[Number(index)];
    if (piece?.kind === 'control') return piece.source;
    if (piece?.kind !== 'output') return mark;
    const filter = /\b(?:url_encode|cgi_escape)\b/.test(piece.source) ? '' : placeFilter(piece.escape);
    return piece.source.replace(/(-?[}%]\})$/, (end) => `${filter}${filter === '' ? '' : ' '}${end}`);
  });
}

/** The filter for an output in its place, as Liquid source; empty where escaping is enough. */
function placeFilter(escape: Escape): string {
  if (escape === 'urlPart') return ' | place_in_url';
  if (escape === 'urlStart') return ' | place_as_url';
  return escape === 'name' ? ' | place_in_name' : '';
}
