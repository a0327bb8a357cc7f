/** What fails together is tried alone: one run that cannot be moved holds nobody up, and is parked after some tries (D87, D88). */
import { messageOf } from '../../../lib/errors.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import type { DueRun, NodeKey } from '../runs/run.ts';
import { delayRun, holdsRun, moveRuns } from '../runs/run-store.ts';
import { tryNode } from '../runs/node-store.ts';

/** A run that failed so often at a node is parked. */
const FAILURES_MAX = 5;
const RETRY_MS = 60_000;
const MESSAGE_MAX = 500;

interface Node {
  readonly key: NodeKey;
  readonly now: Date;
  /** So many runs are tried. */
  readonly tries: number;
}

/** `moveOne` moves the next due run and tells which one before. */
export async function oneByOne(
  ctx: Context,
  node: Node,
  moveOne: (tx: TransactionContext, onFound: (run: DueRun) => void) => Promise<{ readonly moved: number }>,
): Promise<{ readonly moved: number; readonly isAll: boolean }> {
  let [moved, failed, isAll] = [0, 0, false];
  for (let tries = 0; tries < node.tries && !isAll; tries++) {
    const tried: { run?: DueRun } = {};
    try {
      const done = await inTransaction(ctx, (tx) => moveOne(tx, (run) => void (tried.run = run)));
      isAll = done.moved === 0;
      moved += done.moved;
    } catch (error) {
      if (!tried.run) throw error;
      failed += 1;
      await giveTime(ctx, node, { run: tried.run, message: messageOf(error) });
    }
  }
  if (failed > 0) ctx.log.warn('automations.runs_failed', { ...node.key, runs: failed });
  return { moved, isAll };
}

/** It comes again later, or is parked: only if nobody has moved it since it failed. */
async function giveTime(
  ctx: Context,
  { key, now }: Node,
  { run, message }: { readonly run: DueRun; readonly message: string },
): Promise<void> {
  await inTransaction(ctx, async ({ tx }) => {
    if (!(await tryNode(tx, key)) || !(await holdsRun(tx, key, run))) return;
    if (run.failures + 1 < FAILURES_MAX)
      return delayRun(tx, key, { run, wakeAt: new Date(now.getTime() + RETRY_MS * 2 ** run.failures) });
    const details = { message: message.slice(0, MESSAGE_MAX) };
    const parked = { run, from: key.node, what: 'parked', port: null, reason: 'failed', details, to: null } as const;
    await moveRuns(tx, key, { moves: [parked], now });
  });
}
