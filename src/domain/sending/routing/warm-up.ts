/**
 * A new server's first weeks: how many messages it may send on its first, second, third day, until it is warm. How much
 * a day allows is computed in the database (hot.warm_up_limit), for all workers; here is what a schedule may say.
 */
import { z } from 'zod';

const MESSAGES_MAX = 1_000_000_000;
/** A year: nobody warms up for longer. */
const DAYS_MAX = 366;
const FACTOR_MAX = 10;

const messages = z.int().min(1).max(MESSAGES_MAX);
const common = {
  /** A day that allows so many is the first without a limit. */
  goal: messages,
  /** Hard bounces of the last day's messages in percent; above it the warm-up stops by itself. */
  bounce_rate_max: z.number().min(0).max(100).default(5),
};

const growing = z.discriminatedUnion('kind', [
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
/** A goal that the first day reaches would be no warm-up at all: start and goal were mixed up. */
export const warmUpSchedule = growing.refine((given) => given.kind === 'days' || given.goal > given.start, {
  path: ['goal'],
  message: 'must be greater than the start',
});
export type WarmUpSchedule = z.output<typeof warmUpSchedule>;
