/** A run: one person in one version of a flow, at one node. What moves it, and what it becomes. */
import type { FlowPayload } from '../flow/flow-payload.ts';

/** One version of a flow. Versions never change (D84). */
export interface VersionKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly version: number;
}

/** People at one node. */
export interface NodeKey extends VersionKey {
  readonly node: string;
}

/** The place in the order of what is due at a node up to which all was moved. */
export interface Cursor {
  readonly wakeAt: Date;
  readonly id: bigint;
}

/** A node whose turn it is, and what of it was moved in turns before. */
export interface DueNode {
  readonly key: NodeKey;
  readonly after?: Cursor;
}

/**
 * What was asked for a run that is not parked, in the column `reason`; it is done when the run is due. `skip`: passes over its node (D87).
 * `overdue`: passes over mails until it waits again; `anew`: waits at its node once more (D85).
 */
export const RUN_REQUESTS = { skip: 'skip', skipMails: 'overdue', waitAnew: 'anew' } as const;

export type Passes = Readonly<Record<string, number>>;

export interface Run {
  readonly id: bigint;
  readonly personId: bigint;
  readonly enteredAt: Date;
  /** Goals, exits and waits that count from the entry: by events from this time on, when that happened by which the person came. */
  readonly eventsFrom: Date;
  /** The same: by events recorded after this one. 0: no event brought the person. */
  readonly eventsAfter: bigint;
  /** Arrival at the node. */
  readonly since: Date;
  readonly depth: number;
  readonly failures: number;
  readonly entryKey: string;
  /** The person has left the list by this flow, or had when it began: this run goes on without a subscription (D80). */
  readonly hasLeft: boolean;
  /** Why it is parked, or one of RUN_REQUESTS. */
  readonly reason: string | null;
  /** Of nodes that are part of a way round. */
  readonly passes: Passes | null;
  /** Its steps in the history so far. */
  readonly steps: number;
  /** Type and id of nodes whose work was done in an earlier version, or in the run before: passed over once, then they are taken out (D84). */
  readonly done?: readonly string[] | null;
}

/** How often the run came to the node by now. Ids of nodes are the caller's: only own names count. */
export function passOf({ passes }: Pick<Run, 'passes'>, node: string): number {
  return passes && Object.hasOwn(passes, node) ? (passes[node] ?? 1) : 1;
}

/** A run whose node has work to do now, with the person; null: the person is not on the list any more. */
export interface DueRun extends Run {
  readonly wakeAt: Date;
  /** It has not waited at its node until now: it was parked, or was moved there from another version. */
  readonly isAtWork?: boolean;
  readonly person: RunPerson | null;
  /** What the run began with; null: nothing, or the node does not read it. */
  readonly payload: FlowPayload | null;
}

export interface RunPerson {
  readonly status: string;
  /** The address is on the customer's suppression list, or on the installation's. */
  readonly isSuppressed: boolean;
  readonly fields: Readonly<Record<string, string>>;
}

/** Where a run stands after a step: at a node, until a time. */
export interface Place {
  readonly node: string;
  readonly state: 'due' | 'waiting';
  /** Null: it waits without end. */
  readonly wakeAt: Date | null;
}

/** Where a run stands that was moved to another version: also parked, as before. */
export interface MovedPlace {
  readonly node: string;
  readonly state: 'due' | 'waiting' | 'parked';
  readonly wakeAt: Date | null;
}

/** One step of one run. */
export interface Move {
  readonly run: Run;
  readonly from: string;
  /** `stays`: it waits longer at the same node; in the history only if there is a reason. */
  readonly what: 'passed' | 'left' | 'parked' | 'stays';
  readonly port: string | null;
  /** A code: why it went this way. */
  readonly reason: string | null;
  /** The values that were read (D78). */
  readonly details: Readonly<Record<string, unknown>> | null;
  /** Another move of the same run follows in the same transaction. */
  readonly goesOn?: boolean;
  /** It was parked until now. */
  readonly wasParked?: boolean;
  /** Null: the run has ended, or is parked where it is. */
  readonly to: Place | null;
}
