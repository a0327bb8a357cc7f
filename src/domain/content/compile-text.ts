/**
 * From a marked text to segments. Without Liquid, a text is split at its marks. With Liquid, only the parts of the
 * template that can vary are run for a recipient; what the library calls plain html stays static.
 */
import { TokenKind, type Liquid, type Template } from 'liquidjs';
import { escapeHtml } from './escape.ts';
import { mergeStatic, type FillScope, type Segment } from './fill-scope.ts';
import { compileLiquidData } from './liquid-data.ts';
import { liquidContext, liquidEngine, parseLiquid, placeFilter, renderLiquid } from './liquid-engine.ts';
import { resolveSigns } from './liquid-html.ts';
import { tagSegment, type TagValues } from './merge-tags.ts';
import {
  MARK_PATTERN,
  REGION_CLOSE,
  REGION_OPEN,
  stripNoncharacters,
  usesLiquid,
  type MarkedText,
  type PartName,
  type Piece,
} from './template-marks.ts';

const ANY_MARK = /\ufdd0(\d+)\ufdd1|\ufdd2(\d+)\ufdd1([^\ufdd3]*)\ufdd3/g;

/** Compiles a marked text. Throws ValidationError when its Liquid does not parse. */
export function compileText(marked: MarkedText, tags: TagValues): Segment[] {
  const resolved = marked.pieces.map((piece) => pieceSegment(piece, tags));
  const isHtml = marked.part === 'html';
  if (!usesLiquid(marked.text, marked.pieces)) {
    return mergeStatic(splitAtMarks(marked.text, resolved));
  }
  const engine = liquidEngine(isHtml);
  const source = restoreLiquid(marked.text, marked.pieces);
  const groups = groupTemplates(parseLiquid(engine, source, marked.field));
  const part = { key: {}, engine, data: compileLiquidData(tags, source), resolved, field: marked.field, isHtml };
  return mergeStatic(
    groups.flatMap((group) => (typeof group === 'string' ? splitAtMarks(group, resolved) : [liquidSlot(part, group)])),
  );
}

interface LiquidPart {
  /** Under this the part's variables are kept while a message is filled. */
  readonly key: object;
  readonly engine: Liquid;
  readonly data: (scope: FillScope) => object;
  readonly resolved: readonly Segment[];
  readonly field: PartName;
  readonly isHtml: boolean;
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
    return piece.source.replace(/(-?\}\})$/, (end) => `${filter}${filter === '' ? '' : ' '}${end}`);
  });
}

/** Neighbouring templates that vary, with the static ones between the ends of an address; and static texts. */
function groupTemplates(templates: readonly Template[]): (string | Template[])[] {
  const groups: (string | Template[])[] = [];
  let open: Template[] | undefined;
  for (const template of templates) {
    const text = staticText(template);
    if (open !== undefined) {
      open.push(template);
      if (text?.includes(REGION_CLOSE) && !endsOpen(text)) open = undefined;
    } else if (text !== undefined && !endsOpen(text)) {
      groups.push(...splitRegions(text, template));
    } else {
      const group = [template];
      groups.push(group);
      if (text !== undefined) open = group;
    }
  }
  return groups;
}

/** A static text is static unless an address with Liquid in it stands there whole (inside a raw block, say). */
function splitRegions(text: string, template: Template): (string | Template[])[] {
  return text.includes(REGION_OPEN) ? [[template]] : [text];
}

function endsOpen(text: string): boolean {
  return text.lastIndexOf(REGION_OPEN) > text.lastIndexOf(REGION_CLOSE);
}

/** The text of a template that the library keeps as it is, white space control applied; else undefined. */
function staticText(template: Template): string | undefined {
  const { token } = template;
  if (token.kind !== TokenKind.HTML || !('getContent' in token)) return undefined;
  const text: unknown = typeof token.getContent === 'function' ? token.getContent() : undefined;
  return typeof text === 'string' ? text : undefined;
}

function liquidSlot(part: LiquidPart, templates: readonly Template[]): Segment {
  return (scope) => {
    let variables = scope.liquid.get(part.key);
    if (variables === undefined) {
      variables = liquidContext(part.engine, part.data(scope));
      scope.liquid.set(part.key, variables);
    }
    const rendered = renderLiquid(part.engine, { templates, context: variables, part: part.field });
    return resolveMarks(part, rendered, scope);
  };
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
