/**
 * Does all the work that is due in flows: node after node, until nothing is. Customers, flows and nodes take turns, a batch each, so a
 * flow with 200,000 due people does not hold up another one (D89).
 */
import type { Context } from '../../context.ts';
import { advanceNode } from './advance-node.ts';
import { postponeNode } from './postpone-node.ts';
import { dueNodes } from '../runs/node-store.ts';
import type { DueNode } from '../runs/run.ts';
import { RoundRobin } from './round-robin.ts';

/** Nodes of one look, the same number of each customer: some 20 MB when so much is due. */
const NODES_AT_ONCE = 10_000;
/** How often nodes that have become due meanwhile are found. */
const LOOK_MS = 1_000;

export interface Advancing {
  /** The time up to which something is due; fixed between two looks (D88). */
  now(): Promise<Date> | Date;
  readonly isStopping: () => boolean;
  /** Of triggers: only those that changes of people concern. */
  readonly isQuick?: boolean;
}

/** How many runs were moved. Ends when nothing is due, or it is to stop. */
export async function advanceDue(ctx: Context, { now, isStopping }: Advancing): Promise<number> {
  const due = new RoundRobin();
  let total = 0;
  for (;;) {
    const at = await now();
    due.add(await dueNodes(ctx.db, at, NODES_AT_ONCE));
    const lookAgainAt = performance.now() + LOOK_MS;
    let moved = 0;
    while (performance.now() < lookAgainAt) {
      if (isStopping()) return total + moved;
      const node = due.next();
      if (!node) break;
      const done = await advanced(ctx, node, at);
      moved += done.moved;
      if (done.next) due.again(done.next);
    }
    total += moved;
    // Nothing was moved in a whole look: what is due is held by others, who do it. A node that fails may take the whole look: those behind it have
    // their turn in the next one.
    if (moved === 0 && due.isEmpty()) return total;
  }
}

/** One node that cannot be worked on holds up no other. */
async function advanced(ctx: Context, node: DueNode, at: Date): ReturnType<typeof advanceNode> {
  try {
    return await advanceNode(ctx, node, at);
  } catch (error) {
    await postponeNode(ctx, node.key, { error, now: at });
    return { moved: 0, next: undefined };
  }
}
