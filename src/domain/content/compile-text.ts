/**
 * From a marked text to segments. Without Liquid, a text is split at its marks. With Liquid, only the parts of the
 * template that can vary are run for a recipient, in a thread of their own; what the library calls plain html stays
 * static.
 */
import { escapeHtml } from '../../lib/html.ts';
import { type Escape } from './escape.ts';
import { mergeStatic, type FillScope, type Segment } from './fill-scope.ts';
import { compileLiquidData } from './liquid-data.ts';
import type { LiquidData } from './liquid-messages.ts';
import { resolveSigns } from './liquid-signs.ts';
import { openLiquid, type LiquidTemplate } from './liquid-thread.ts';
import { tagSegment, type TagValues } from './merge-tags.ts';
import { MARK_PATTERN, stripNoncharacters, usesLiquid, type MarkedText, type Piece } from './template-marks.ts';

const ANY_MARK = /\ufdd0(\d+)\ufdd1|\ufdd2(\d+)\ufdd1([^\ufdd2\ufdd3]*)\ufdd3/g;

/** A text with Liquid in it: what it is run with, and where its results are found. */
export interface LiquidPart {
  readonly template: LiquidTemplate;
  readonly data: (scope: FillScope) => LiquidData;
  readonly resolved: readonly Segment[];
  readonly isHtml: boolean;
}

/** What compiling a message's texts needs: its tags, and the place where texts with Liquid are listed. */
export interface TextCompiler {
  readonly tags: TagValues;
  readonly liquid: LiquidPart[];
}

/** Compiles a marked text. Throws ValidationError when its Liquid does not parse. */
export async function compileText(marked: MarkedText, { tags, liquid }: TextCompiler): Promise<Segment[]> {
  const resolved = marked.pieces.map((piece) => pieceSegment(piece, tags));
  if (!usesLiquid(marked.text, marked.pieces)) return mergeStatic(splitAtMarks(marked.text, resolved));
  const source = restoreLiquid(marked.text, marked.pieces);
  const isHtml = marked.part === 'html';
  const template = await openLiquid({ source, isHtml, field: marked.field });
  const part: LiquidPart = { template, data: compileLiquidData(tags, source), resolved, isHtml };
  liquid.push(part);
  let slots = 0;
  return mergeStatic(
    template.groups.flatMap((group) => (group === null ? [liquidSlot(part, slots++)] : splitAtMarks(group, resolved))),
  );
}

/** Runs the Liquid of a message for one recipient; its texts can be filled then. Throws ValidationError. */
export async function runLiquid(parts: readonly LiquidPart[], scope: FillScope): Promise<FillScope> {
  const work = parts.map(async (part) => [part, await part.template.render(part.data(scope))] as const);
  return { ...scope, liquid: new Map(await Promise.all(work)) };
}

function pieceSegment(piece: Piece, tags: TagValues): Segment {
  if (piece.kind === 'insert') return piece.segment;
  return piece.kind === 'tag' ? tagSegment(tags, piece.name, piece.escape) : '';
}

function splitAtMarks(text: string, resolved: readonly Segment[]): Segment[] {
  return text.split(MARK_PATTERN).map((part, index) => {
    // split gives text and captured number in turn.
    return index % 2 === 1 ? (resolved[Number(part)] ?? '') : stripNoncharacters(part);
  });
}

/** Puts Liquid back in its place, with the filter that the place needs; other marks stay. */
function restoreLiquid(text: string, pieces: readonly Piece[]): string {
  return text.replace(MARK_PATTERN, (mark, index: string) => {
    const piece = pieces[Number(index)];
    if (piece?.kind === 'control') return piece.source;
    if (piece?.kind !== 'output') return mark;
    const filter = /\b(?:url_encode|cgi_escape)\b/.test(piece.source) ? '' : placeFilter(piece.escape);
    return piece.source.replace(/(-?[}%]\})$/, (end) => `${filter}${filter === '' ? '' : ' '}${end}`);
  });
}

function liquidSlot(part: LiquidPart, slotNo: number): Segment {
  return (scope) => resolveMarks(part, scope.liquid.get(part)?.[slotNo] ?? '', scope);
}

function resolveMarks(part: LiquidPart, text: string, scope: FillScope): string {
  const filled = text.replace(ANY_MARK, (_mark, index?: string, linkNo?: string, region?: string) => {
    if (linkNo === undefined) return fillSegment(part.resolved[Number(index)] ?? '', scope);
    const address = splitAtMarks(resolveSigns(region ?? '', true), part.resolved);
    const url = address
      .map((segment) => fillSegment(segment, scope))
      .join('')
      .trim();
    const tracked = scope.recipient.links.click(Number(linkNo), url);
    return part.isHtml ? escapeHtml(tracked) : tracked;
  });
  return stripNoncharacters(part.isHtml ? resolveSigns(filled) : filled);
}

function fillSegment(segment: Segment, scope: FillScope): string {
  return typeof segment === 'string' ? segment : segment(scope);
}

/** The filter that an output needs in its place, as Liquid source; empty where escaping is enough. */
function placeFilter(escape: Escape): string {
  if (escape === 'urlPart') return ' | place_in_url';
  if (escape === 'urlStart') return ' | place_as_url';
  return escape === 'name' ? ' | place_in_name' : '';
}
