/** The question of a condition node: about the person, this run's mails, or the payload that the run began with (D78). */
import { z } from 'zod';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import { clickOfRun, mailOfRun, payloadCondition, type PayloadCondition } from './flow-parts.ts';
import { parsedRule } from './flow-rule.ts';

/** Deeper ones are not understandable. */
const DEPTH_MAX = 5;
const ITEMS_MAX = 20;

export type FlowCondition =
  | { readonly all: readonly FlowCondition[] }
  | { readonly any: readonly FlowCondition[] }
  | { readonly none: readonly FlowCondition[] }
  | FlowQuestion;

export type FlowQuestion =
  /** By the rules of segments, with "now" at the person's arrival. */
  | { readonly person: SegmentRule }
  | { readonly opened: z.output<typeof mailOfRun> }
  | { readonly clicked: z.output<typeof clickOfRun> }
  | { readonly payload: PayloadCondition };

const NAMES = 'person, opened, clicked, payload, all, any, none';

/** Where no condition may stand any more. */
export const tooDeep = z.custom<FlowCondition>(() => false, `must not be nested deeper than ${DEPTH_MAX} levels`);

function conditionAround(inner: z.ZodType<FlowCondition>): z.ZodType<FlowCondition> {
  const group = z.array(inner).min(1).max(ITEMS_MAX).optional();
  const shape = {
    ...{ person: parsedRule.optional(), opened: mailOfRun.optional(), clicked: clickOfRun.optional() },
    ...{ payload: payloadCondition.optional(), all: group, any: group, none: group },
  };
  return z
    .strictObject(shape)
    .refine((given) => Object.values(given).filter((one) => one !== undefined).length === 1, {
      message: `must have exactly one of: ${NAMES}`,
    })
    .transform(({ person, opened, clicked, payload, all, any, none }): FlowCondition => {
      if (person) return { person };
      if (opened) return { opened };
      if (clicked) return { clicked };
      if (payload) return { payload };
      if (all) return { all };
      if (any) return { any };
      return none ? { none } : z.NEVER;
    });
}

/** Each may be inside the one before it. */
export const flowConditions: readonly z.ZodType<FlowCondition>[] = nested(DEPTH_MAX);

function nested(levels: number): readonly z.ZodType<FlowCondition>[] {
  if (levels === 0) return [];
  const inner = nested(levels - 1);
  return [conditionAround(inner[0] ?? tooDeep), ...inner];
}

export const flowCondition = flowConditions[0] ?? tooDeep;

/** The questions in a condition, whatever groups they are in. */
export function questionsOf(condition: FlowCondition): readonly FlowQuestion[] {
  if ('all' in condition) return condition.all.flatMap(questionsOf);
  if ('any' in condition) return condition.any.flatMap(questionsOf);
  if ('none' in condition) return condition.none.flatMap(questionsOf);
  return [condition];
}
