/** What happened to one person (decision D104), read from where it is kept: kinds, entries, and their order. */
import { z } from 'zod';

/** `what` of each kind is described in docs/manual/lists-and-subscribers.md. */
export const TIMELINE_KINDS = [
  ...(['added', 'confirmed', 'changed', 'tagged', 'untagged', 'moved', 'unsubscribed', 'resubscribed'] as const),
  ...(['bounced', 'complained', 'suppressed', 'event', 'mail', 'opened', 'clicked', 'flow'] as const),
] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export const timelineKindsInput = z.array(z.enum(TIMELINE_KINDS)).max(TIMELINE_KINDS.length);

/** A place in the timeline: newer entries come first, and entries of one millisecond in an order that never changes. */
export interface TimelinePosition {
  /** Microseconds since 1970. */
  readonly micros: bigint;
  /** Of the table that it is read from. */
  readonly rank: number;
  readonly id: bigint;
  readonly no: number;
}

export interface TimelineEntry extends TimelinePosition {
  readonly at: Date;
  readonly kind: TimelineKind;
  /** Who or what did it; null: not known. */
  readonly by: string | null;
  readonly what: Readonly<Record<string, unknown>>;
}

export interface TimelinePage {
  /** The last entry of the page before. */
  readonly after: TimelinePosition | undefined;
  readonly limit: number;
  /** They are counted: what others wrote, payloads and addresses of links, is not read. */
  readonly isCounting?: boolean;
}

/**
 * The tables, causes before effects. Some write milliseconds only, so within one the table decides: without this, what an event has caused would
 * seem older than the event.
 */
export const RANKS = { event: 1, step: 2, mail: 3, open: 4, click: 5, suppression: 6 } as const;

export const MICROS_PER_MS = 1_000n;

/** Its time in whole milliseconds. */
export function millisecondOf({ micros }: Pick<TimelinePosition, 'micros'>): bigint {
  return micros / MICROS_PER_MS;
}

/** Below zero: `one` comes first. */
export function compareEntries(one: TimelinePosition, other: TimelinePosition): number {
  const parts = [
    millisecondOf(other) - millisecondOf(one),
    BigInt(other.rank - one.rank),
    other.micros - one.micros,
    other.id - one.id,
    BigInt(other.no - one.no),
  ];
  const first = parts.find((part) => part !== 0n) ?? 0n;
  return first < 0n ? -1 : first > 0n ? 1 : 0;
}
