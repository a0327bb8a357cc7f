/**
 * A new server's first weeks: how many messages it may send on each day, until the warm-up ends. A day's limit is computed in the
 * database (hot.warm_up_limit), for all workers; here is what a schedule may contain.
 */
import { z } from 'zod';

const MESSAGES_MAX = 1_000_000_000;
/** A year: no warm-up is longer. */
const DAYS_MAX = 366;
const FACTOR_MAX = 10;

const messages = z.int().min(1).max(MESSAGES_MAX);
const common = {
  /** The warm-up ends before the first day whose limit would reach this. */
  goal: messages,
  /** Hard bounces in percent of the last day's messages; above it the warm-up stops automatically. */
  bounce_rate_max: z.number().min(0).max(100).default(5),
};

const anySchedule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('linear'), start: messages, step: messages, ...common }),
  z.strictObject({
    kind: z.literal('exponential'),
    start: messages,
    factor: z.number().gt(1).max(FACTOR_MAX),
    ...common,
  }),
  z.strictObject({
    kind: z.literal('days'),
    days: z.array(messages).min(1).max(DAYS_MAX),
    ...common,
    goal: messages.default(MESSAGES_MAX),
  }),
]);
/** If the first day reaches the goal, start and goal were probably mixed up. */
export const warmUpSchedule = anySchedule.refine((given) => given.kind === 'days' || given.goal > given.start, {
  path: ['goal'],
  message: 'must be greater than the start',
});
export type WarmUpSchedule = z.output<typeof warmUpSchedule>;
