/** What entries of the hooks `job`, `cron_line` and `daily_task` must be. */
import { z } from 'zod';
import { parseCronLine } from '../lib/cron-line.ts';
import { messageOf } from '../lib/errors.ts';
import { checkBy, EntryError, functionShape, type EntryCheck } from './entry-check.ts';

/** Stored with each job. */
const NAME = /^[a-z][a-z0-9_-]{0,59}$/;
/** With the queue's delays the last of so many tries comes after days. */
const ATTEMPTS_MAX = 25;
/** A job holds one of the few places of plugins meanwhile. */
const SECONDS_MAX = 900;

export const wholeNumber = (min: number, max: number) => {
  const fault = `must be a whole number from ${min} to ${max}`;
  return z.int(fault).min(min, fault).max(max, fault);
};
export const entryName = z
  .string('must be a text')
  .regex(NAME, 'must consist of small letters, digits, "-" and "_", at most 60, and begin with a letter');

const limits = {
  name: entryName,
  run: functionShape(),
  attemptsMax: wholeNumber(1, ATTEMPTS_MAX).optional(),
  secondsMax: wholeNumber(1, SECONDS_MAX).optional(),
};
const line = z.string('must be a text').check(({ value, issues }) => {
  try {
    parseCronLine(value);
  } catch (error) {
    issues.push({ code: 'custom', input: value, message: messageOf(error) });
  }
});

export const checkJob = checkNamed(z.object({ ...limits, check: functionShape().optional() }));
export const checkCronLine = checkNamed(z.object({ ...limits, line }));
export const checkDailyTask = checkNamed(z.object({ ...limits, hour: wholeNumber(0, 23) }));

/** Of a plugin no two entries of the hook have the same name. */
export function checkNamed(shape: z.ZodType<{ readonly name: string }>): EntryCheck {
  return checkBy(shape, (entry, { others = [] }) => {
    if (others.some((other) => shape.safeParse(other).data?.name === entry.name))
      throw new EntryError(`It has two of the name "${entry.name}".`);
    return entry;
  });
}
