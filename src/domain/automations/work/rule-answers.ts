/** The answers of plugins to rules of a flow, asked outside of transactions. */
import { answersTo, askForFlow, freshAnswers, type RuleToAnswer } from '../../audience/segments/ask-plugins.ts';
import { questionsOf } from '../../audience/segments/plugin-condition.ts';
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import type { Context } from '../../context.ts';
import type { Database } from '../../../db/database.ts';
import { messageOf, RateLimitedError } from '../../../lib/errors.ts';
import type { LiveFlow } from '../runs/live-flow.ts';

const NO_ANSWERS: AnswersByQuestion = new Map();

type Asking = Pick<LiveFlow, 'key' | 'listId'>;

/** Answers to all conditions of plugins in these rules. Throws what asking a plugin throws. */
export async function answersToRules(
  ctx: Context,
  live: Asking,
  rules: readonly SegmentRule[],
): Promise<AnswersByQuestion> {
  const asked = questionsIn(live, rules);
  return asked ? answersTo(ctx, asked) : NO_ANSWERS;
}

/** Who waits for answers in this process: each asks once at a time. Of each database by itself: names are the same in others. */
const askersOf = new WeakMap<Database, Set<string>>();

export interface ReadyAnswers {
  readonly rules: readonly SegmentRule[];
  /** Whose work needs the answers. */
  readonly asker: string;
  /** There will be none now. */
  readonly onFailure: (error: unknown) => Promise<void>;
}

/**
 * The same for work that others wait behind (D89): undefined, if a plugin has to be asked. It is asked meanwhile, and the asker comes again: then the
 * answers are there, for a minute. Throws UnavailableConditionError when the plugin is not there.
 */
export async function readyAnswers(
  ctx: Context,
  live: Asking,
  { rules, asker, onFailure }: ReadyAnswers,
): Promise<AnswersByQuestion | undefined> {
  const asked = questionsIn(live, rules);
  if (!asked) return NO_ANSWERS;
  const askers = askersOf.get(ctx.database) ?? new Set();
  askersOf.set(ctx.database, askers);
  if (askers.has(asker)) return undefined;
  const fresh = await freshAnswers(ctx, asked);
  if (fresh) return fresh;
  askers.add(asker);
  void askBeside(ctx, asked, onFailure).finally(() => askers.delete(asker));
  return undefined;
}

/** Never rejects. */
async function askBeside(ctx: Context, asked: RuleToAnswer, onFailure: ReadyAnswers['onFailure']): Promise<void> {
  try {
    await askForFlow(ctx, asked).catch((error: unknown) => (isBusy(error) ? undefined : onFailure(error)));
  } catch (error) {
    ctx.log.warn('automations.not_postponed', { customerId: asked.customerId, message: messageOf(error) });
  }
}

/** Other flows are asking the same condition: no failure. */
function isBusy(error: unknown): boolean {
  return error instanceof RateLimitedError;
}

/** Undefined: the rules ask no plugin. */
function questionsIn({ key, listId }: Asking, rules: readonly SegmentRule[]): RuleToAnswer | undefined {
  const [first, ...more] = rules;
  const rule = first && { all: [first, ...more] };
  return rule && questionsOf(rule).size > 0 ? { customerId: key.customerId, listId, rule } : undefined;
}
