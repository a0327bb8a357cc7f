/**
 * The first pass over a template: every merge tag and Liquid construct is replaced by a mark, so that html and links can be
 * parsed without template syntax. Marks are Unicode noncharacters, which no interchanged text contains and which are removed from
 * every incoming text and value.
 */
import type { Escape } from './escape.ts';
import type { PartName } from './message.ts';
import type { TagValues } from './merge-tags.ts';
import type { PlannedSegment } from './message-plan.ts';
import { templateFault } from './template-fault.ts';

const MARK_OPEN = '\ufdd0';
export const MARK_CLOSE = '\ufdd1';
/** An address with Liquid inside: `REGION_OPEN no MARK_CLOSE address REGION_CLOSE`. */
export const REGION_OPEN = '\ufdd2';
export const REGION_CLOSE = '\ufdd3';

export const MARK_PATTERN = /\ufdd0(\d+)\ufdd1/g;
const NONCHARACTERS = /[\ufdd0-\ufdef]/g;

/** The piece behind a mark. `escape` is refined when the mark's place in the html is known. */
export type Piece =
  | { readonly kind: 'tag'; readonly name: string; escape: Escape }
  | { readonly kind: 'output' | 'control'; readonly source: string; escape: Escape }
  | { readonly kind: 'insert'; readonly segment: PlannedSegment };

export interface MarkedText {
  readonly part: PartName;
  /** The field that its fault is reported on: `html`, also for the plain text that is made from it. */
  readonly field: PartName;
  readonly text: string;
  readonly pieces: Piece[];
  /** Upper-case names in braces that are no merge tags. */
  readonly unknownTags: readonly string[];
}

/** What writes a value: `{{ x }}`, and `{% echo x %}`, which is the same. */
const OUTPUT = /^(?:\{\{|\{%-?\s*echo\b)/;
/** How far a construct is parsed with its quoted strings; longer ones end at the nearest closing braces. */
const CONSTRUCT_LENGTH_MAX = 2_000;
/** More merge tags and Liquid than any honest mail has; each takes time per recipient. */
const PIECES_MAX = 5_000;

/** Replaces the templates in `text` by marks; `escape` is that of running text in this part. */
export function markTemplate(source: { part: PartName; text: string; escape: Escape; tags: TagValues }): MarkedText {
  const pieces: Piece[] = [];
  const unknown = new Set<string>();
  const input = stripNoncharacters(source.text);
  let text = '';
  let from = 0;
  for (const { start, end, tag } of findConstructs(input, source.part)) {
    const construct = input.slice(start, end);
    if (tag !== undefined && !source.tags.has(tag)) {
      unknown.add(tag);
      continue;
    }
    if (pieces.length >= PIECES_MAX)
      throw templateFault(source.part, `A text may have at most ${PIECES_MAX} merge tags.`);
    const { escape } = source;
    const kind = OUTPUT.test(construct) ? 'output' : 'control';
    const piece: Piece = tag === undefined ? { kind, source: construct, escape } : { kind: 'tag', name: tag, escape };
    text += input.slice(from, start) + addPiece(pieces, piece);
    from = end;
  }
  return { part: source.part, field: source.part, text: text + input.slice(from), pieces, unknownTags: [...unknown] };
}

interface Construct {
  readonly start: number;
  readonly end: number;
  /** The name, when it is an upper-case merge tag. */
  readonly tag?: string;
}

/** One pass, in linear time also for hostile input. */
function* findConstructs(text: string, part: PartName): Generator<Construct> {
  const opening = /\{(?:\{|%|([A-Z][A-Z0-9_]{0,63})\})/g;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const start = match.index;
    const tag = match[1];
    const end = tag === undefined ? liquidEnd(text, start) : opening.lastIndex;
    if (end === undefined) {
      const line = text.slice(0, start).split('\n').length;
      throw templateFault(part, `Line ${line}: "${text.slice(start, start + 20)}" is not closed.`);
    }
    yield { start, end, ...(tag === undefined ? {} : { tag }) };
    opening.lastIndex = end;
  }
}

/** Where a Liquid construct ends; closing braces in a quoted string do not end it. */
function liquidEnd(text: string, start: number): number | undefined {
  const close = text[start + 1] === '{' ? '}}' : '%}';
  const nearest = text.indexOf(close, start + 2);
  if (nearest === -1) return undefined;
  const stop = /"[^"\n]{0,500}"|'[^'\n]{0,500}'|\}\}|%\}/g;
  stop.lastIndex = start + 2;
  for (
    let match = stop.exec(text);
    match !== null && match.index - start < CONSTRUCT_LENGTH_MAX;
    match = stop.exec(text)
  ) {
    if (match[0] === close) return stop.lastIndex;
  }
  return nearest + close.length;
}

/** Adds a piece and returns its mark. */
export function addPiece(pieces: Piece[], piece: Piece): string {
  pieces.push(piece);
  return `${MARK_OPEN}${pieces.length - 1}${MARK_CLOSE}`;
}

export function stripNoncharacters(text: string): string {
  return text.replace(NONCHARACTERS, '');
}

/** The pieces whose marks are in this range of marked text, in order, each with its place. */
export function piecesIn(text: string, pieces: readonly Piece[]): { piece: Piece; at: number }[] {
  return Array.from(text.matchAll(MARK_PATTERN), (match) => ({
    piece: pieces[Number(match[1])],
    at: match.index,
  })).flatMap(({ piece, at }) => (piece ? [{ piece, at }] : []));
}

/** A marked text with each mark replaced by its segment. */
export function splitAtMarks<Segment>(text: string, resolved: readonly Segment[]): (Segment | string)[] {
  return text.split(MARK_PATTERN).map((part, index) => {
    // `split` alternates text and captured number.
    return index % 2 === 1 ? (resolved[Number(part)] ?? '') : stripNoncharacters(part);
  });
}

/** Marked text as its author wrote it. */
export function unmark(text: string, pieces: readonly Piece[]): string {
  return text.replace(MARK_PATTERN, (_mark, index: string) => pieceSource(pieces[Number(index)]));
}

function pieceSource(piece: Piece | undefined): string {
  if (piece === undefined || piece.kind === 'insert') return '';
  return piece.kind === 'tag' ? `{${piece.name}}` : piece.source;
}

/** Whether its Liquid has to be run for each recipient. */
export function usesLiquid(text: string, pieces: readonly Piece[]): boolean {
  return piecesIn(text, pieces).some(({ piece }) => piece.kind === 'output' || piece.kind === 'control');
}
