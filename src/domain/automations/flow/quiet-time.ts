/** Until when a person gets no mail of a flow: the list's quiet hours by the person's own clock (D82). Pure. */
import { createHash } from 'node:crypto';
import type { QuietHours } from '../../audience/quiet-hours.ts';
import { dayAfter, dayAt, instantOf, timeAt } from './local-time.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
const UINT32 = 2 ** 32;

export interface QuietQuestion {
  /** The person's zone; quiet hours may name one for all. */
  readonly zone: string;
  readonly now: Date;
  /** Spreads mails: the same for the same. */
  readonly seed: string;
}

/**
 * When the person's mail goes; undefined: now. What waited goes in the first hour after the quiet hours, and not all in its first second; of a
 * shorter time between quiet hours, in its first half.
 */
export function endOfQuiet({ from, to, timezone }: QuietHours, { zone, now, seed }: QuietQuestion): Date | undefined {
  const clock = timezone ?? zone;
  const instant = now.getTime();
  const time = timeAt(clock, instant);
  const isOverNight = from > to;
  const isQuiet = isOverNight ? time >= from || time < to : time >= from && time < to;
  if (!isQuiet) return undefined;
  const today = dayAt(clock, instant);
  const end = instantOf(clock, isOverNight && time >= from ? dayAfter(today, 1) : today, to);
  const openMinutes = (minutesOf(from) - minutesOf(to) + DAY_MINUTES) % DAY_MINUTES;
  const spread = Math.min(HOUR_MS, (openMinutes * MINUTE_MS) / 2);
  // Clocks may be set back meanwhile: never before now.
  return new Date(Math.max(end, instant) + Math.floor(shareOf(seed) * spread));
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

function shareOf(seed: string): number {
  return createHash('sha256').update(seed).digest().readUInt32BE(0) / UINT32;
}
