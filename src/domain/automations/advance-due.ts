/**
 * Does all the work that is due in flows: node after node, until nothing is. Nodes take turns, a batch each, so a flow with 200,000 due
 * people does not hold up another one (D89).
 */
import type { Context } from '../context.ts';
import { advanceNode } from './advance-node.ts';
import { messageOf } from '../../lib/errors.ts';
import { dueNodes, postponeNode } from './node-store.ts';
import type { NodeKey } from './run.ts';

/** Nodes of one round. Those that are overdue for longest come first. */
const NODES_AT_ONCE = 100;
/** What a node needs may be back then, such as a plugin. */
const POSTPONED_MS = 60_000;

export interface Advancing {
  /** The fixed time up to which something is due; a round's own "now" (D88). */
  now(): Promise<Date> | Date;
  readonly isStopping: () => boolean;
}

/** How many runs were moved. Ends when nothing is due, or it is to stop. */
export async function advanceDue(ctx: Context, { now, isStopping }: Advancing): Promise<number> {
  let total = 0;
  for (;;) {
    const at = await now();
    let moved = 0;
    for (const node of await dueNodes(ctx.db, at, NODES_AT_ONCE)) {
      if (isStopping()) return total + moved;
      moved += await advanced(ctx, node, at);
    }
    total += moved;
    if (moved === 0) return total;
  }
}

/** One node that cannot be worked on holds up no other. */
async function advanced(ctx: Context, node: NodeKey, at: Date): Promise<number> {
  try {
    return await advanceNode(ctx, node, at);
  } catch (error) {
    ctx.log.warn('automations.node_postponed', { ...node, message: messageOf(error) });
    await postponeNode(ctx.db, node, new Date(at.getTime() + POSTPONED_MS));
    return 0;
  }
}
