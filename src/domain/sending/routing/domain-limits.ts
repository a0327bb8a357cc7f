/**
 * How many messages an hour a server sends to one provider or domain: `{"gmail.com": 2000, "*": 10000}`. A domain of a known
 * provider stands for the whole provider; `*` is the limit of each other one.
 */
import { z } from 'zod';
import { knownGroup } from './mailbox-group.ts';

const LIMITS_MAX = 500;
const PER_HOUR_MAX = 100_000_000;
const EVERY_OTHER = '*';
const NAME = /^(\*|[a-z][a-z-]{0,40}|(?=.{1,253}$)([\p{L}\p{N}_-]{1,63}\.)+[\p{L}\p{N}-]{2,63})$/iu;

export const domainLimits = z
  .record(z.string().regex(NAME, 'must be named by domain, provider, or *'), z.int().min(1).max(PER_HOUR_MAX))
  .refine((limits) => Object.keys(limits).length <= LIMITS_MAX, `must be at most ${LIMITS_MAX}`);
export type DomainLimits = z.output<typeof domainLimits>;

/** Messages an hour to a group of mailboxes; undefined: any number. */
export function limitFinder(limits: DomainLimits): ((group: string) => number | undefined) | undefined {
  const byGroup = new Map<string, number>();
  for (const [name, perHour] of Object.entries(limits)) {
    const group = name === EVERY_OTHER ? name : knownGroup(name);
    // Two names of one provider: the smaller number counts.
    byGroup.set(group, Math.min(perHour, byGroup.get(group) ?? Infinity));
  }
  if (byGroup.size === 0) return undefined;
  return (group) => byGroup.get(group) ?? byGroup.get(EVERY_OTHER);
}

/** From the stored form; an unreadable one limits nothing. */
export function parseDomainLimits(stored: unknown): DomainLimits {
  const parsed = domainLimits.safeParse(stored ?? {});
  return parsed.success ? parsed.data : {};
}
