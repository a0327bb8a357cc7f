/**
 * Periods of a subscription, in UTC. Period n of an anchor ends n times the frequency after it, counted from the anchor and never
 * from the period before, so that a subscription from the 31st of January renews on the 28th of February and on the 31st of
 * March.
 */
import { z } from 'zod';

export const frequencyUnits = ['day', 'week', 'month', 'year'] as const;
export type FrequencyUnit = (typeof frequencyUnits)[number];

export interface Frequency {
  readonly amount: number;
  readonly unit: FrequencyUnit;
}

/** Ten years of each: a longer period is a mistake. */
export const FREQUENCY_MAX: Readonly<Record<FrequencyUnit, number>> = { day: 3_650, week: 520, month: 120, year: 10 };

/** The limit of a unit is checked with the unit (`checkFrequency`). */
export const frequencyAmount = z
  .int()
  .min(1)
  .describe(`At most ${frequencyUnits.map((unit) => `${FREQUENCY_MAX[unit]} ${unit}s`).join(', ')}.`);

const DAY_MS = 24 * 60 * 60 * 1000;

/** The end of period `count` of this anchor. */
export function periodEnd(anchor: Date, { amount, unit }: Frequency, count: number): Date {
  const steps = amount * count;
  switch (unit) {
    case 'day':
      return new Date(anchor.getTime() + steps * DAY_MS);
    case 'week':
      return new Date(anchor.getTime() + steps * 7 * DAY_MS);
    case 'month':
      return addMonths(anchor, steps);
    case 'year':
      return addMonths(anchor, steps * 12);
  }
}

/** The unit in a row. */
export function storedUnit(unit: string): FrequencyUnit {
  const known = frequencyUnits.find((one) => one === unit);
  if (!known) throw new Error(`The frequency unit ${unit} is stored, but not known.`);
  return known;
}

/** The same day and time `months` later; the last day of a month without such a day. */
function addMonths(anchor: Date, months: number): Date {
  const first = new Date(anchor);
  first.setUTCDate(1);
  first.setUTCMonth(first.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(anchor.getUTCDate(), lastDay));
  return first;
}
