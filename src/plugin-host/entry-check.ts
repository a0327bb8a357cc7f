/** How an entry of a registry, or the value of a filter, is checked: what a plugin hands over is data that nobody has looked at yet. */
import { z } from 'zod';

/** The plugin that hands something over. */
export interface Giver {
  readonly plugin: string;
  /** Its folder; undefined: a plugin without files, as in tests. */
  readonly folder?: string | undefined;
  /** What it has added to the same registry before. */
  readonly others?: readonly unknown[];
}

/** Returns what is kept: a copy, so that the plugin cannot change it later. Throws EntryError. */
export type EntryCheck = (value: unknown, giver: Giver) => unknown;

/** What a plugin has handed over cannot be used: all faults, in sentences. */
export class EntryError extends Error {}

/** So many faults are told; a list of a thousand wrong items has no more to say. */
const FAULTS_MAX = 10;

/** A check by a shape. `more` reads files that belong to it, or finds what a shape cannot. */
export function checkBy<Shape extends z.ZodType>(
  shape: Shape,
  more: (value: z.output<Shape>, giver: Giver) => unknown = (value) => value,
): EntryCheck {
  return (value, giver) => {
    const { success, data, error } = shape.safeParse(value);
    if (success) return more(data, giver);
    throw new EntryError(error.issues.slice(0, FAULTS_MAX).map(sentenceOf).join(' '));
  };
}

/** A function, which is only called later, with its faults contained. */
export function functionShape<Call>(): z.ZodType<Call> {
  return z.custom<Call>((value) => typeof value === 'function', 'must be a function');
}

function sentenceOf({ path, message }: z.core.$ZodIssue): string {
  const place = path.map(String).join('.');
  return `${place === '' ? 'It' : `"${place}"`}: ${message.replace(/\.$/, '')}.`;
}
