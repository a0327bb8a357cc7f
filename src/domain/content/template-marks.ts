/**
 * The first pass over a template: every merge tag and Liquid construct is taken out and a mark put in its place, so
 * that html and links can be read without tripping over templates. Marks are made of Unicode noncharacters, which no
 * interchanged text contains and which are removed from every text and value that comes in.
 */
import type { Escape } from './escape.ts';
import type { Segment } from './fill-scope.ts';
import type { TagValues } from './merge-tags.ts';

export const MARK_OPEN = '\ufdd0';
export const MARK_CLOSE = '\ufdd1';
/** An address with Liquid inside: `REGION_OPEN no MARK_CLOSE address REGION_CLOSE`. */
export const REGION_OPEN = '\ufdd2';
export const REGION_CLOSE = '\ufdd3';

export const MARK_PATTERN = /\ufdd0(\d+)\ufdd1/g;
const NONCHARACTERS = /[\ufdd0-\ufdef]/g;

/** What a mark stands for. `escape` is refined when the mark's place in the html is known. */
export type Piece =
  | { readonly kind: 'tag'; readonly name: string; escape: Escape }
  | { readonly kind: 'output' | 'control'; readonly source: string; escape: Escape }
  | { readonly kind: 'insert'; readonly segment: Segment };

/** Which part of the message a template is, in the words of the API's fields. */
export type PartName = 'subject' | 'from_name' | 'html' | 'plain';

export interface MarkedText {
  readonly part: PartName;
  readonly text: string;
  readonly pieces: Piece[];
  /** Upper-case names in braces that mean nothing here. */
  readonly unknownTags: readonly string[];
}

// A Liquid output or tag (quoted strings may hold its closing braces), or an upper-case merge tag.
const CONSTRUCT =
  /\{\{(?:"[^"\n]*"|'[^'\n]*'|(?!\}\})[\s\S])*?\}\}|\{%(?:"[^"\n]*"|'[^'\n]*'|(?!%\})[\s\S])*?%\}|\{([A-Z][A-Z0-9_]{0,63})\}/g;

/** Takes the templates out of `text`; `escape` is that of plain running text in this part. */
export function markTemplate(source: { part: PartName; text: string; escape: Escape; tags: TagValues }): MarkedText {
  const pieces: Piece[] = [];
  const unknown = new Set<string>();
  const text = stripNoncharacters(source.text).replace(CONSTRUCT, (construct, tag: string | undefined) => {
    if (tag === undefined) {
      const kind = construct.startsWith('{{') ? 'output' : 'control';
      return addPiece(pieces, { kind, source: construct, escape: source.escape });
    }
    if (source.tags.has(tag)) return addPiece(pieces, { kind: 'tag', name: tag, escape: source.escape });
    unknown.add(tag);
    return construct;
  });
  return { part: source.part, text, pieces, unknownTags: [...unknown] };
}

/** Adds a piece and answers the mark that stands for it. */
export function addPiece(pieces: Piece[], piece: Piece): string {
  pieces.push(piece);
  return `${MARK_OPEN}${pieces.length - 1}${MARK_CLOSE}`;
}

export function stripNoncharacters(text: string): string {
  return text.replace(NONCHARACTERS, '');
}

/** The pieces whose marks stand in this stretch of marked text, in order, each with its place. */
export function piecesIn(text: string, pieces: readonly Piece[]): { piece: Piece; at: number }[] {
  return Array.from(text.matchAll(MARK_PATTERN), (match) => ({ piece: pieces[Number(match[1])], at: match.index })).flatMap(
    ({ piece, at }) => (piece ? [{ piece, at }] : []),
  );
}

/** Marked text as its author wrote it. */
export function unmark(text: string, pieces: readonly Piece[]): string {
  return text.replace(MARK_PATTERN, (_mark, index: string) => pieceSource(pieces[Number(index)]));
}

function pieceSource(piece: Piece | undefined): string {
  if (piece === undefined || piece.kind === 'insert') return '';
  return piece.kind === 'tag' ? `{${piece.name}}` : piece.source;
}

/** Liquid in it has to be run for each recipient. */
export function usesLiquid(text: string, pieces: readonly Piece[]): boolean {
  return piecesIn(text, pieces).some(({ piece }) => piece.kind === 'output' || piece.kind === 'control');
}
