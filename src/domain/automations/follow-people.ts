/**
 * Reads on for all flows: what happened to people since. Flows take turns, a batch each, so neither a large import nor a flow that fails
 * delays another customer's (D89).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { haveEnded } from '../../events/event-store.ts';
import { lastPersonEventId, openPersonEventWriters } from '../../events/person-event-read-model.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { databaseNow } from './clock-read-model.ts';
import { delayPosition, flowsBehind } from './flow-follower-store.ts';
import { followFlow, type Reading } from './follow-flow.ts';

/** Flows of one round. */
const FLOWS_AT_ONCE = 100;
/** Transactions that write last milliseconds; one that lasts longer is asked for less often. */
const ENDED_MS_MIN = 10;
const ENDED_MS_MAX = 500;

export interface Following {
  readonly isStopping: () => boolean;
}

/** Ends when no flow has anything to read, or it is to stop. */
export async function followPeople(ctx: Context, { isStopping }: Following): Promise<void> {
  const now = await databaseNow(ctx.db);
  // In this order: whoever wrote an event up to this id is among the writers, or has ended.
  const upTo = await lastPersonEventId(ctx.database);
  if (!(await haveWritten(ctx, await openPersonEventWriters(ctx.database), isStopping))) return;
  for (;;) {
    let hasRead = false;
    for (const flow of await flowsBehind(ctx.db, upTo, FLOWS_AT_ONCE)) {
      if (isStopping()) return;
      hasRead = (await followed(ctx, flow, { upTo, now })) || hasRead;
    }
    if (!hasRead) return;
  }
}

async function haveWritten(ctx: Context, writers: readonly string[], isStopping: () => boolean): Promise<boolean> {
  for (let waitMs = ENDED_MS_MIN; !isStopping(); waitMs = Math.min(waitMs * 2, ENDED_MS_MAX)) {
    if (writers.length === 0 || (await haveEnded(ctx.database, writers, openPersonEventWriters))) return true;
    await sleep(waitMs);
  }
  return false;
}

/** A flow whose events cannot be handled is tried again later. */
async function followed(ctx: Context, flow: Parameters<typeof followFlow>[1], reading: Reading): Promise<boolean> {
  try {
    return await followFlow(ctx, flow, reading);
  } catch (error) {
    ctx.log.warn('automations.events_postponed', { ...flow, message: messageOf(error) });
    await delayPosition(ctx.db, flow);
    return false;
  }
}
