/**
 * A node whose work fails as a whole is tried again later, and its people keep their places. When a plugin has not answered, the node shows why they
 * wait.
 */
import { UnavailableConditionError } from '../../audience/segments/segment-errors.ts';
import { inTransaction, type Context } from '../../context.ts';
import { messageOf } from '../../../lib/errors.ts';
import { writePostponed } from '../runs/node-store.ts';
import type { NodeKey } from '../runs/run.ts';
import { enqueueUnanswered } from '../runs/unanswered.ts';

/** What it needs may be back then: whoever waits goes on within a minute. */
const POSTPONED_MS = 30_000;

/** Nothing of the node is tried before half a minute is over. */
export async function postponeNode(
  ctx: Context,
  key: NodeKey,
  { error, now }: { readonly error: unknown; readonly now: Date },
): Promise<void> {
  ctx.log.warn('automations.node_postponed', { ...key, message: messageOf(error) });
  const about = error instanceof UnavailableConditionError ? error.about : null;
  const until = new Date(now.getTime() + POSTPONED_MS);
  await inTransaction(ctx, async ({ tx }) => {
    if (await writePostponed(tx, key, { about, now, until })) await enqueueUnanswered(tx, key);
  });
}
