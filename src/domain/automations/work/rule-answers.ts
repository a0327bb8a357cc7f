/** The answers of plugins to rules of a flow, asked outside of transactions. */
import { answersTo } from '../../audience/segments/ask-plugins.ts';
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import type { Context } from '../../context.ts';
import type { LiveFlow } from '../runs/live-flow.ts';

const NO_ANSWERS: AnswersByQuestion = new Map();

/** Answers to all conditions of plugins in these rules. Throws what asking a plugin throws. */
export async function answersToRules(
  ctx: Context,
  { key, listId }: LiveFlow,
  rules: readonly SegmentRule[],
): Promise<AnswersByQuestion> {
  const [first, ...more] = rules;
  if (!first) return NO_ANSWERS;
  return answersTo(ctx, { customerId: key.customerId, listId, rule: { all: [first, ...more] } });
}
