/**
 * Hours in which nobody is written to, and the time zones of people: what a list or a campaign may say of them. When
 * somebody is written to is computed elsewhere (hot.send_time), by the database's clock and zones.
 */
import { z } from 'zod';
import { isTimezone } from '../accounts/customer.ts';

/** Names of zones are shorter. */
const TIMEZONE_LENGTH_MAX = 64;

export const localTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 08:30');

export const timezoneName = z
  .string()
  .trim()
  .max(TIMEZONE_LENGTH_MAX)
  .refine((name) => name !== '' && isTimezone(name), 'must be the name of a time zone, such as Europe/Vienna');

export const quietHours = z
  .strictObject({
    from: localTime,
    /** The first minute that is not quiet any more; before `from`: of the next day. */
    to: localTime,
    /** Clocks by which this is; null: those of each person, as far as they are known. */
    timezone: timezoneName.nullish(),
  })
  .refine(({ from, to }) => from !== to, 'must begin and end at different times');
export type QuietHours = z.output<typeof quietHours>;

/** As it is stored; what cannot be read is no quiet hour. */
export function parseQuietHours(stored: unknown): QuietHours | null {
  const parsed = quietHours.safeParse(stored);
  return parsed.success ? parsed.data : null;
}
