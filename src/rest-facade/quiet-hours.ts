/** Quiet hours of lists and campaigns, as requests give them and answers show them. */
import { z } from 'zod';
import type { Input } from './input.ts';

export const quietHoursShape = z.strictObject({ from: z.string(), to: z.string(), timezone: z.string().nullable() });

/** An empty one clears. */
export function quietHoursIn(input: Input) {
  const given = input.raw('quiet_hours');
  if (given === null || given === '') return null;
  const hours = input.object('quiet_hours');
  return (
    hours && {
      from: hours.text('from') ?? '',
      to: hours.text('to') ?? '',
      timezone: hours.nullableText('timezone'),
    }
  );
}

export function presentQuietHours(hours: { from: string; to: string; timezone: string | null }) {
  return { from: hours.from, to: hours.to, timezone: hours.timezone };
}
