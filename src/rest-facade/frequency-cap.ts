/** Frequency caps of lists and customers, as requests give them and answers show them. */
import { z } from 'zod';
import type { Input } from './input.ts';

export const frequencyCapShape = z.strictObject({
  messages: z.int().meta({ description: 'So many messages a person gets at most.' }),
  days: z.int().meta({ description: 'Within so many days.' }),
  hold_days: z.int().meta({ description: 'A message that would wait for longer is not sent.' }),
});

/** An empty one clears. */
export function frequencyCapIn(input: Input) {
  const given = input.raw('frequency_cap');
  if (given === null || given === '') return null;
  const cap = input.object('frequency_cap');
  return (
    cap && {
      messages: cap.integer('messages') ?? 0,
      days: cap.integer('days') ?? 0,
      holdDays: cap.integer('hold_days'),
    }
  );
}

export function presentFrequencyCap(cap: { messages: number; days: number; holdDays: number }) {
  return { messages: cap.messages, days: cap.days, hold_days: cap.holdDays };
}
