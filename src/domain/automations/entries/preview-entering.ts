/** Who would enter a flow by what they are already (D71): how many match, how many of them may enter, and why the others may not. */
import { ValidationError } from '../../../lib/errors.ts';
import { findOwnedSegment } from '../../audience/segments/find-owned-segment.ts';
import { findSegment } from '../../audience/segments/segment-store.ts';
import { readPeople } from '../../audience/segments/segment-read-model.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { Context } from '../../context.ts';
import { needsKeys, notPublished } from '../automation-errors.ts';
import type { Automation } from '../automation.ts';
import { EVERYBODY, matchingOf, type Matching } from './enrolment.ts';
import { countRefusals } from './entry-refusal-read-model.ts';
import type { Refusal } from './enter-people.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import type { Flow } from '../flow/flow.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';

export interface Whom {
  /** Only those of this segment of the list. */
  readonly segmentUid?: string | null | undefined;
  /** Also who is not what the triggers and their filters ask for; as `execute` does. */
  readonly withoutTriggers?: boolean | null | undefined;
}

export interface EnteringPreview {
  readonly version: number;
  readonly asOf: Date;
  readonly matching: number;
  /** How many of them would enter now. */
  readonly mayEnter: number;
  readonly refused: readonly { readonly reason: Refusal; readonly people: number }[];
  readonly triggers: readonly string[];
  readonly triggersLeftOut: readonly string[];
}

/**
 * How many people match, and how many of them would enter. Changes nothing. Throws ValidationError (`ENTRY_NEEDS_KEYS` of a flow with keys, and
 * what reading a segment throws), WrongStateError `AUTOMATION_NOT_PUBLISHED`, `AUTOMATION_NOT_FOUND`, `SEGMENT_NOT_FOUND`.
 */
export async function previewEntering(ctx: Context, uid: string, whom: Whom): Promise<EnteringPreview> {
  const automation = await findOwnedAutomation(ctx, uid);
  return (await lookAt(ctx, automation, whom)).preview;
}

interface Look {
  readonly preview: EnteringPreview;
  readonly rule: SegmentRule;
  readonly segmentUid: string | null;
}

/** Throws what `previewEntering` throws. */
export async function lookAt(ctx: Context, automation: Automation, whom: Whom): Promise<Look> {
  const { customerId, id: automationId, listId, liveVersion: version } = automation;
  const live = version === null ? undefined : await liveFlow(ctx, { customerId, automationId, version });
  if (!live || version === null) throw notPublished();
  if (live.flow.entry.mode === 'per_key') throw needsKeys();
  const matching = await matchingOfFlow(ctx, live);
  const segment = await segmentOf(ctx, automation, whom);
  const rule = ruleOf(whom, { matching, segment: segment?.rule });
  const counts = await readPeople(ctx, { customerId, listId, rule }, async ({ db, asOf, answers }) => ({
    asOf,
    rows: await countRefusals(db, live, { rule, asOf, answers }),
  }));
  const isSkipped = whom.withoutTriggers === true;
  const preview = {
    ...{ version, asOf: counts.asOf },
    matching: counts.rows.reduce((sum, { people }) => sum + people, 0),
    mayEnter: counts.rows.find(({ refused }) => refused === null)?.people ?? 0,
    refused: counts.rows.flatMap(({ refused, people }) => (refused === null ? [] : [{ reason: refused, people }])),
    triggers: isSkipped ? [] : matching.triggers,
    triggersLeftOut: isSkipped ? [] : matching.leftOut,
  };
  return { preview, rule, segmentUid: segment?.uid ?? null };
}

interface Chosen {
  readonly matching: Matching;
  readonly segment: SegmentRule | undefined;
}

/** Throws ValidationError on `withoutTriggers`. */
function ruleOf({ withoutTriggers }: Whom, { matching, segment }: Chosen): SegmentRule {
  if (withoutTriggers === true) return segment ?? EVERYBODY;
  if (matching.rule) return segment ? { all: [matching.rule, segment] } : matching.rule;
  throw new ValidationError({
    withoutTriggers: [
      `No trigger of the automation says who matches already (${matching.leftOut.join(', ')}). Choose to enter people without triggers, and name a segment unless you mean the whole list.`,
    ],
  });
}

async function matchingOfFlow({ db }: Context, { key, flow }: LiveFlow): Promise<Matching> {
  const segments = new Map<string, SegmentRule>();
  for (const uid of segmentsNamedBy(flow)) {
    const segment = await findSegment(db, { customerId: key.customerId, uid });
    if (segment) segments.set(uid, segment.rule);
  }
  return matchingOf(flow, segments);
}

function segmentsNamedBy({ triggers }: Flow): readonly string[] {
  return triggers.flatMap((trigger) => (trigger.type === 'segment_entered' ? [trigger.segmentUid] : []));
}

/** Throws ValidationError on `segmentUid`, `SEGMENT_NOT_FOUND`. */
async function segmentOf(ctx: Context, { listId }: Automation, { segmentUid }: Whom) {
  const uid = segmentUid?.trim() ?? '';
  if (uid === '') return undefined;
  const segment = await findOwnedSegment(ctx, uid);
  if (segment.listId === listId) return segment;
  throw new ValidationError({ segmentUid: ['The segment must be one of the list of the automation.'] });
}
