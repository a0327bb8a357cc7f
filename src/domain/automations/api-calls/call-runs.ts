/** Moves people on who wait at an API-call node, with the payload that the call brought (D27). */
import type { TransactionContext } from '../../context.ts';
import { moveOf, whyGone } from '../runs/move-of.ts';
import { addToPayloads, lockWaiting } from './called-run-store.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import type { DueRun, Move, NodeKey } from '../runs/run.ts';
import { findByKeys, moveRuns } from '../runs/run-store.ts';
import { fireForArrivals } from '../work/fire-webhooks.ts';
import { wakeFlows } from '../runs/wake-flows.ts';
import { zonesOfList } from '../runs/version-read-model.ts';

export interface Call {
  readonly payload: FlowPayload | null;
  readonly calledAt: Date;
  /** Null: everybody who waits there. */
  readonly personId: bigint | null;
  /** Runs up to this one were called before. */
  readonly afterId: bigint;
  readonly max: number;
}

export interface Called {
  readonly runIds: readonly bigint[];
  /** The payload has no room for what the call brought: they go on waiting. */
  readonly tooLarge: readonly bigint[];
  /** The last that was looked at; undefined: nobody is left. */
  readonly lastId: bigint | undefined;
}

const NOBODY: Called = { runIds: [], tooLarge: [], lastId: undefined };

/** Who waits at the node goes on by `next`; who has left the list meanwhile leaves the flow. */
export async function callRuns(ctx: TransactionContext, key: NodeKey, call: Call): Promise<Called> {
  const live = await liveFlow(ctx, key);
  if (live?.graph.nodes.get(key.node)?.type !== 'api_call') return NOBODY;
  await findByKeys(ctx.tx);
  const waiting = await lockWaiting(ctx.tx, key, { ...call, listId: live.listId });
  if (waiting.length === 0) return NOBODY;
  const runIds = waiting.map(({ id }) => id);
  const { payload } = call;
  const taken = payload === null ? new Set(runIds) : await addToPayloads(ctx.tx, key, { runIds, payload });
  const called = waiting.filter(({ id }) => taken.has(id));
  const moves = await movesOf(ctx, live, { node: key.node, runs: called, now: call.calledAt });
  await moveRuns(ctx.tx, key, { moves, now: call.calledAt });
  await fireForArrivals(ctx, live, moves);
  if (moves.some(({ to }) => to?.state === 'due')) await wakeFlows(ctx.tx);
  return {
    runIds: called.map(({ id }) => id),
    tooLarge: runIds.filter((id) => !taken.has(id)),
    lastId: waiting.length < call.max ? undefined : runIds.at(-1),
  };
}

interface Batch {
  readonly node: string;
  readonly runs: readonly DueRun[];
  readonly now: Date;
}

async function movesOf(ctx: TransactionContext, live: LiveFlow, { node: id, runs, now }: Batch): Promise<Move[]> {
  const node = live.graph.nodes.get(id);
  const zones = await zonesOfList(ctx.db, { customerId: live.key.customerId, listId: live.listId });
  if (!node || !zones) throw new Error('The node of a call, or its list, is gone.');
  return runs.map((run) => {
    const why = whyGone(run);
    if (why !== undefined || !run.person) return moveOf(node, run, { leave: why ?? 'deleted' });
    return moveOf(node, run, { go: 'next', reason: 'called' }, { live, zones, person: run.person, now });
  });
}
