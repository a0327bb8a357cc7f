/** What has happened to people of a flow cannot be handled now: it is tried again later, and soon when only a plugin has not answered. */
import { UnavailableConditionError } from '../../audience/segments/segment-errors.ts';
import { inTransaction, type Context } from '../../context.ts';
import { messageOf } from '../../../lib/errors.ts';
import { enqueueUnanswered } from '../runs/unanswered.ts';
import { delayPosition, type FlowBehind } from './flow-follower-store.ts';

/** The flow reads nothing before its next time. */
export async function postponeEvents(ctx: Context, flow: FlowBehind, error: unknown): Promise<void> {
  ctx.log.warn('automations.events_postponed', { ...flow, message: messageOf(error) });
  const about = error instanceof UnavailableConditionError ? error.about : null;
  await inTransaction(ctx, async ({ tx }) => {
    if (await delayPosition(tx, flow, about)) await enqueueUnanswered(tx, flow);
  });
}
