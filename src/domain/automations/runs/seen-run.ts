/** A run as its owner sees it: where it is, or how it ended, and its steps. */
import { z } from 'zod';
import type { NodeType } from '../flow/flow-nodes.ts';
import { NODE_ID_MAX } from '../flow/flow-parts.ts';
import type { VersionKey } from './run.ts';

/**
 * Of a run: `waiting` at a node, `parked` there, or ended: `passed` to an end of the flow, or `left` before. At a node the same words say
 * what its counts count (D90): who passed it may be in the flow still.
 */
export const RUN_STATES = ['waiting', 'parked', 'passed', 'left'] as const;
export type RunState = (typeof RUN_STATES)[number];

export type AutomationKey = Omit<VersionKey, 'version'>;

/** Where a run stands in a list of runs: by its id, and among those that wait by the end of their wait. */
export interface RunPosition {
  readonly id: bigint;
  /** Microseconds since 1970; null: it waits without end, or the list is by ids. */
  readonly wakeMicros: bigint | null;
}

const INT_MAX = 2_147_483_647;

/** A place in an automation, as callers name it. */
export const placeInput = z.object({ node: z.string().max(NODE_ID_MAX), version: z.int().min(1).max(INT_MAX) });
export const placeFilterInput = z.object({
  node: placeInput.shape.node.nullish(),
  version: placeInput.shape.version.nullish(),
});

export interface RunFilter {
  readonly state: RunState | null;
  readonly node: string | null;
  readonly version: number | null;
  readonly personId: bigint | null;
}

/** A step as its owner sees it. */
export interface SeenStep {
  /** Its place in the run: 1, 2, 3. */
  readonly no: number;
  readonly at: Date;
  readonly version: number;
  readonly node: string;
  /** Null: the version is gone. */
  readonly nodeType: NodeType | null;
  readonly what: string;
  readonly port: string | null;
  readonly reason: string | null;
  /** What was read, without secrets. */
  readonly details: Readonly<Record<string, unknown>> | null;
  /** Of a mail: its message. */
  readonly messageId: bigint | null;
}
