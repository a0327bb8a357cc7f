/**
 * Triggers that look at people by themselves, because nothing tells them: dates, timetables and segments (D73 to D76). Each of a live
 * flow has a row (trigger-store.ts), which stays the same when a new version has the same trigger: nothing fires again then.
 */
import { createHash } from 'node:crypto';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { Flow } from '../flow/flow.ts';
import type { Zones } from '../runs/zones.ts';

export type FlowTrigger = Flow['triggers'][number];
/** Fires at local times. */
export type TimedTrigger = Extract<FlowTrigger, { at: string }>;
export type SegmentTrigger = Extract<FlowTrigger, { segmentUid: string }>;
export type WatchedTrigger = TimedTrigger | SegmentTrigger;

const KEY_LENGTH = 24;

export function isWatched(trigger: FlowTrigger): trigger is WatchedTrigger {
  return 'at' in trigger || 'segmentUid' in trigger;
}

/** The same for a trigger that means the same; who of the people may enter (`if`) is no part of it. */
export function keyOfTrigger({ if: _rule, ...trigger }: WatchedTrigger): string {
  return createHash('sha256').update(JSON.stringify(trigger, sorted)).digest('hex').slice(0, KEY_LENGTH);
}

/** The database keeps the names of an object in an order of its own. */
function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export interface TriggerKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly id: bigint;
}

/** A trigger's row, with what it needs to look at people. */
export interface WatchedRow extends TriggerKey {
  readonly listId: bigint;
  readonly key: string;
  /** The live version of the flow. */
  readonly version: number;
  readonly startedAt: Date;
  /** Not null: all people of the list are being looked at, up to this id they were. */
  readonly walkAfter: bigint | null;
  readonly walkFrom: Date;
  readonly walkEnters: boolean;
  readonly zones: Zones;
  /** Of its segment. */
  readonly rule: SegmentRule | null;
  /** All people have to be looked at anew: other time zones, another rule. */
  readonly isOutdated: boolean;
  /** It has been an hour since all people were looked at: rules about time and about opens (D73). */
  readonly isHourDue: boolean;
}
