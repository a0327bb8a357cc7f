/**
 * Lets flows look at opens and clicks that they ask for, beside what happens to people (follow-people.ts): they let people in, end waits, and
 * take people out by goals and exits. What is taken and what it does are one transaction: what dies in the middle has not happened.
 */
import { inTransaction, type Context } from '../../context.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { enterByEvents } from './enter-by-events.ts';
import { flowsWithActivity, takeActivity } from './flow-activity-store.ts';
import { clearPostponed, holdPosition, type FlowBehind } from './flow-follower-store.ts';
import { answersFor } from './follow-flow.ts';
import { postponeEvents } from './postpone-events.ts';
import { liveFlow } from '../runs/live-flow.ts';
import { moveByEvents } from './move-by-events.ts';
import { findByKeys } from '../runs/run-store.ts';

/** Flows of one round. */
const FLOWS_AT_ONCE = 100;
/** One transaction of some 100 ms. */
const AT_ONCE_MAX = 1_000;

export interface FollowingActivity {
  readonly isStopping: () => boolean;
  /** When what it does happens; absent: by the clock of the database. */
  readonly now?: () => Promise<Date> | Date;
}

/** Ends when no flow has anything to look at, or it is to stop: then true, there may be more. */
export async function followActivity(ctx: Context, { isStopping, now }: FollowingActivity): Promise<boolean> {
  for (;;) {
    let hasMore = false;
    for (const flow of await flowsWithActivity(ctx.db, FLOWS_AT_ONCE)) {
      if (isStopping()) return true;
      if (await followed(ctx, flow, now ?? (() => databaseNow(ctx.db)))) hasMore = true;
    }
    if (!hasMore) return false;
  }
}

/** A flow that fails is tried again later, and holds up no other: they come in the next round. False: another process holds it. */
async function followed(ctx: Context, flow: FlowBehind, clock: () => Promise<Date> | Date): Promise<boolean> {
  try {
    return (await actOn(ctx, flow, await clock())) > 0;
  } catch (error) {
    await postponeEvents(ctx, flow, error);
    return true;
  }
}

/** Returns how many were taken; 0 if another process holds the flow, or while a plugin is asked. */
async function actOn(ctx: Context, behind: FlowBehind, now: Date): Promise<number> {
  const { customerId, automationId, version } = behind;
  const live = await liveFlow(ctx, { customerId, automationId, version });
  if (!live) throw new Error('The version of the flow is gone.');
  const answers = await answersFor(ctx, live, behind);
  if (!answers) return 0;
  return inTransaction(ctx, async (tx) => {
    const held = await holdPosition(tx.tx, live.key);
    if (!held) return 0;
    if (held.isPostponed) await clearPostponed(tx.tx, live.key);
    const events = await takeActivity(tx.tx, live.key, AT_ONCE_MAX);
    await findByKeys(tx.tx);
    await moveByEvents(tx, live, { events, answers, now });
    await enterByEvents(tx, live, { events, answers, now });
    return events.length;
  });
}
