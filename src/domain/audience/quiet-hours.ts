/**
 * Hours without mail, and time zones of people, as lists and campaigns set them. The send time of a person is computed by
 * hot.send_time, with the database's clock and zones.
 */
import { z } from 'zod';
import { isTimezone } from '../accounts/customer.ts';

/** Names of zones are shorter. */
const TIMEZONE_LENGTH_MAX = 64;

export const localTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 08:30')
  .describe('From `00:00` to `23:59`.');

export const timezoneName = z
  .string()
  .trim()
  .max(TIMEZONE_LENGTH_MAX)
  .refine((name) => name !== '' && isTimezone(name), 'must be the name of a time zone, such as Europe/Vienna');

export const quietHours = z
  .strictObject({
    from: localTime,
    /** The first minute after the quiet hours; before `from`: of the next day. */
    to: localTime,
    /** The time zone; null: the zone of each person, if known. */
    timezone: timezoneName.nullish(),
  })
  .refine(({ from, to }) => from !== to, 'must begin and end at different times');
export type QuietHours = z.output<typeof quietHours>;

/** From the stored form; an invalid one means no quiet hours. */
export function parseQuietHours(stored: unknown): QuietHours | null {
  const parsed = quietHours.safeParse(stored);
  return parsed.success ? parsed.data : null;
}
