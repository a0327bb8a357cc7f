/** An enrolment: letting in people who match the triggers of a flow already (D71). Its states and limits, and whom a flow means. Pure. */
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { Flow } from '../flow/flow.ts';
import type { FlowTrigger } from '../triggers/watched-trigger.ts';

export type EnrolmentStatus = 'running' | 'done' | 'cancelled' | 'failed';

/** Why it failed. `more_than_confirmed`: more people may enter by now than whoever began it agreed to. */
export type EnrolmentFault = 'more_than_confirmed' | 'condition_unavailable' | 'failed';

/** Of one automation; older ones are deleted. */
export const ENROLMENTS_KEPT = 20;

/** How often it is asked whether a paused automation goes on. */
export const PAUSED_SECONDS = 60;

/** People an hour: what one process lets in, with room for others. */
export const PER_HOUR_MAX = 1_000_000;
/** More than a list has. */
export const PEOPLE_MAX = 1_000_000_000;

/** People come and go between the look and the act: so many more or fewer are near. */
const NEAR = { share: 0.05, people: 10 };

/** How far the number of people may be from the one that was named. */
export function toleranceOf(people: number): number {
  return Math.max(NEAR.people, Math.ceil(people * NEAR.share));
}

/** A portion: half a minute of the rate, in one transaction of some 100 ms. */
const PORTIONS_AN_HOUR = 120;
const PEOPLE_AT_ONCE = 1_000;

/** The most people who enter in one portion. */
export function portionOf(perHour: number): number {
  return Math.min(PEOPLE_AT_ONCE, Math.ceil(perHour / PORTIONS_AN_HOUR));
}

export interface Matching {
  /** Undefined: no trigger says who matches already. */
  readonly rule: SegmentRule | undefined;
  /** Types of the triggers by which people match. */
  readonly triggers: readonly string[];
  /** Types of the others: what they ask for happens at a moment, and nothing of it stays. */
  readonly leftOut: readonly string[];
}

/** Who is what a trigger asks for, and one of its `if`; several triggers: of any of them. */
export function matchingOf({ triggers }: Flow, segments: ReadonlyMap<string, SegmentRule>): Matching {
  const found = triggers.map((trigger) => ({ type: trigger.type, rule: ruleOf(trigger, segments) }));
  const rules = found.flatMap(({ rule }) => rule ?? []);
  const typesOf = (isMatched: boolean) =>
    new Set(found.filter(({ rule }) => (rule !== undefined) === isMatched).map(({ type }) => type));
  return {
    rule: rules.length > 0 ? { any: rules } : undefined,
    triggers: [...typesOf(true)],
    leftOut: [...typesOf(false)],
  };
}

function ruleOf(trigger: FlowTrigger, segments: ReadonlyMap<string, SegmentRule>): SegmentRule | undefined {
  const state = stateOf(trigger, segments);
  const only = 'if' in trigger ? trigger.if : undefined;
  return state && only ? { all: [state, only] } : state;
}

/** What is true of a person for whom the trigger would have fired once. */
function stateOf(trigger: FlowTrigger, segments: ReadonlyMap<string, SegmentRule>): SegmentRule | undefined {
  switch (trigger.type) {
    case 'subscribed':
      return EVERYBODY;
    case 'confirmed':
      return { all: [EVERYBODY, { confirmedAt: { isEmpty: false } }] };
    case 'tag_added':
      return { tags: { hasAny: [trigger.tag] } };
    case 'segment_entered':
      return segments.get(trigger.segmentUid);
    case 'campaign_opened':
      // Who clicked has read it, also without its pictures.
      return { any: [{ opened: actOf(trigger) }, { clicked: actOf(trigger) }] };
    case 'campaign_clicked':
      return { clicked: { ...actOf(trigger), linkContains: trigger.linkContains } };
    default:
      return undefined;
  }
}

/** Who gets mail of the list. */
export const EVERYBODY: SegmentRule = { status: ['subscribed'] };

function actOf({ campaignUid, machines }: Extract<FlowTrigger, { type: 'campaign_opened' | 'campaign_clicked' }>) {
  return {
    campaigns: campaignUid === undefined ? undefined : { uids: [campaignUid] },
    peopleOnly: machines !== true,
  };
}
