/** The time zones of a list's people (D75): the person's, then the list's, then the customer's. */
import { isTimezone } from '../../accounts/customer.ts';
import type { RunPerson } from './run.ts';

/** Answers for zones that were asked for; names come from people's fields, so their number is limited. */
const KNOWN_MAX = 1_000;
const known = new Map<string, boolean>();

export interface Zones {
  /** The field with a person's own; null: unknown for all. */
  readonly tag: string | null;
  /** The list's, else the customer's. */
  readonly fallback: string;
}

/** The person's own zone if its field has the name of one; else the list's. */
export function zoneOf({ tag, fallback }: Zones, { fields }: Pick<RunPerson, 'fields'>): string {
  const own = tag === null ? '' : (fields[tag]?.trim() ?? '');
  return own !== '' && isZone(own) ? own : fallback;
}

/** To ask takes some 50 µs. */
function isZone(name: string): boolean {
  const answer = known.get(name) ?? isTimezone(name);
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(name, answer);
  return answer;
}
