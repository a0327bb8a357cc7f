/**
 * How many messages a person gets within some days, from a list or from all lists of a customer together (D82). What a cap holds back waits until it
 * allows it, at most so many days; what would wait for longer is not sent.
 */
import { z } from 'zod';

/** More in the shortest time is no limit that a reader would notice. */
const MESSAGES_MAX = 100;
/** A quarter of a year: a place in the database is kept for as long for each message. */
const DAYS_MAX = 90;
/** A message that waited for longer is no news any more. */
export const HOLD_DAYS_MAX = 14;
/** As long as mails of flows wait for other reasons. */
const HOLD_DAYS_DEFAULT = 3;

/** Nothing is no limit; zero is not taken for it. */
const countUpTo = (max: number) =>
  z
    .int()
    .max(max)
    .refine((count) => count >= 1, 'must be at least 1; an empty cap is no limit')
    .describe(`From 1 to ${max}.`);

export const frequencyCap = z.strictObject({
  messages: countUpTo(MESSAGES_MAX),
  days: countUpTo(DAYS_MAX),
  holdDays: z
    .int()
    .min(1)
    .max(HOLD_DAYS_MAX)
    .nullish()
    .transform((days) => days ?? HOLD_DAYS_DEFAULT),
});
export type FrequencyCap = z.output<typeof frequencyCap>;

/** From the stored form; an invalid one is no limit. */
export function parseFrequencyCap(stored: unknown): FrequencyCap | null {
  const parsed = frequencyCap.safeParse(stored);
  return parsed.success ? parsed.data : null;
}

/** Another message of the same moment counts from its hand-over: what came with it waits until then, too, where a cap holds for as long as it counts. */
const HOLD_HOURS_MORE = 1;

/** For so many hours the cap holds a message back. */
export function holdHours({ holdDays }: Pick<FrequencyCap, 'holdDays'>): number {
  return holdDays * 24 + HOLD_HOURS_MORE;
}

/** As the functions of the database take it. */
export function capNumbers(cap: FrequencyCap | null): number[] | null {
  return cap && [cap.messages, cap.days, holdHours(cap)];
}

/** Those that count for a message to a person of a list. */
export interface FrequencyCaps {
  /** Of all lists of the customer together. */
  readonly customer: FrequencyCap | null;
  readonly list: FrequencyCap | null;
}

/** Null: there is none. */
export function parseFrequencyCaps(stored: {
  readonly customer: unknown;
  readonly list: unknown;
}): FrequencyCaps | null {
  const caps = { customer: parseFrequencyCap(stored.customer), list: parseFrequencyCap(stored.list) };
  return caps.customer === null && caps.list === null ? null : caps;
}
