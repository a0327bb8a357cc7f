/**
 * From a planned text to segments. With Liquid, only the parts of the template that can vary are run for a recipient, in a
 * separate thread; parts that the library keeps as plain html stay static.
 */
import { escapeHtml } from '../../lib/html.ts';
import { mailOrPage, mergeStatic, type FillScope, type Segment } from './fill-scope.ts';
import { compileLiquidData } from './liquid-data.ts';
import type { LiquidData } from './liquid-messages.ts';
import { resolveSigns } from './liquid-signs.ts';
import { openLiquid, type LiquidTemplate } from './liquid-thread.ts';
import { tagSegment, type TagValues } from './merge-tags.ts';
import type { PlannedSegment, PlannedText } from './message-plan.ts';
import type { SignedLink } from './signed-link.ts';
import { splitAtMarks, stripNoncharacters } from './template-marks.ts';

const ANY_MARK = /\ufdd0(\d+)\ufdd1|\ufdd2(\d+)\ufdd1([^\ufdd2\ufdd3]*)\ufdd3/g;

/** A text with Liquid: its data, and where its results are. */
export interface LiquidPart {
  readonly template: LiquidTemplate;
  readonly data: (scope: FillScope) => LiquidData;
  readonly resolved: readonly Segment[];
  readonly isHtml: boolean;
}

interface SegmentCompiler {
  readonly tags: TagValues;
  readonly links: readonly (SignedLink | undefined)[];
  /** Texts that the program inserts, by name. */
  readonly inserts?: Readonly<Record<string, Segment>>;
}

/** What compiling a message's texts needs, and the list of texts with Liquid. */
export interface TextCompiler extends SegmentCompiler {
  readonly liquid: LiquidPart[];
}

/** Compiles a planned text. Throws ValidationError when its Liquid does not parse. */
export async function compileText(planned: PlannedText, compiler: TextCompiler): Promise<Segment[]> {
  if ('segments' in planned) return compileSegments(planned.segments, compiler);
  const resolved = planned.pieces.map((piece) => segmentOf(piece, compiler));
  const template = await openLiquid(planned.liquid);
  const { isHtml } = planned.liquid;
  const part: LiquidPart = { template, data: compileLiquidData(compiler.tags, planned.tags), resolved, isHtml };
  compiler.liquid.push(part);
  let slots = 0;
  return mergeStatic(
    template.groups.flatMap((group) => (group === null ? [liquidSlot(part, slots++)] : splitAtMarks(group, resolved))),
  );
}

/** Segments without Liquid. */
export function compileSegments(segments: readonly PlannedSegment[], compiler: SegmentCompiler): Segment[] {
  return mergeStatic(segments.map((segment) => segmentOf(segment, compiler)));
}

/** Runs the Liquid of a message for one recipient; then its texts can be filled. Throws ValidationError. */
export async function runLiquid(parts: readonly LiquidPart[], scope: FillScope): Promise<FillScope> {
  const work = parts.map(async (part) => [part, await part.template.render(part.data(scope))] as const);
  return { ...scope, liquid: new Map(await Promise.all(work)) };
}

function segmentOf(planned: PlannedSegment, { tags, links, inserts = {} }: SegmentCompiler): Segment {
  if (typeof planned === 'string') return planned;
  switch (planned.kind) {
    case 'tag':
      return tagSegment(tags, planned.name, planned.escape);
    case 'link':
      return links[planned.no]?.[planned.place === 'html' ? 'inHtml' : 'inPlain'] ?? '';
    case 'insert':
      return inserts[planned.name] ?? '';
    case 'mailOrPage':
      return mailOrPage([planned.inMail], planned.onPage);
  }
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
