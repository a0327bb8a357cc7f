/** The work of a node for many people at once: what each of them leaves it by, or for what they wait on. One file per kind of work. */
import type { TransactionContext } from '../../context.ts';
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import type { FlowNode, NodeType } from '../flow/flow-nodes.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import type { Zones } from '../runs/zones.ts';
import type { DueRun, RunPerson } from '../runs/run.ts';

/** A due run whose person is there. */
export type PresentRun = DueRun & { readonly person: RunPerson };

export type Outcome =
  | {
      readonly go: string;
      readonly reason?: string;
      readonly details?: Readonly<Record<string, unknown>>;
    }
  /** Null: without end. With a reason it is in the history. */
  | { readonly waitUntil: Date | null; readonly reason?: string }
  | { readonly leave: string }
  | { readonly park: string };

export interface NodeWork<Type extends NodeType = NodeType> {
  readonly ctx: TransactionContext;
  readonly live: LiveFlow;
  readonly zones: Zones;
  readonly node: Extract<FlowNode, { type: Type }>;
  readonly runs: readonly PresentRun[];
  readonly now: Date;
  /** To the questions that the node puts to plugins, asked before the transaction. */
  readonly answers: AnswersByQuestion;
}

export const NEXT: Outcome = { go: 'next' };

/** Reasons of those who go on as if the node had done its work, which it has not. */
export const PASSED_OVER = { doneBefore: 'done_before', skipped: 'skipped' } as const;

/** By `error` where it leads somewhere: the fault is of the kind that trying again does not mend. Else parked (D87). */
export function failed({ live, node }: Pick<NodeWork, 'live' | 'node'>, reason: string): Outcome {
  return live.graph.next(node.id, 'error') ? { go: 'error', reason } : { park: reason };
}
