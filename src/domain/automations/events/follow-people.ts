/**
 * Reads on for all flows: what happened to people since. Customers and their flows take turns, a batch each, so neither a large import nor a
 * flow that fails delays another customer's (D89).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { haveEnded } from '../../../events/event-store.ts';
import { lastPersonEventId, openPersonEventWriters } from '../../../events/person-event-read-model.ts';
import type { Context } from '../../context.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { flowsBehind, type FlowBehind } from './flow-follower-store.ts';
import { followFlow, type Reading } from './follow-flow.ts';
import { postponeEvents } from './postpone-events.ts';
import { RoundRobin } from '../engine/round-robin.ts';

/** Flows of one look, the same number of each customer. */
const FLOWS_AT_ONCE = 1_000;
/** How often it is looked for flows to which something has happened meanwhile. */
const LOOK_MS = 500;
const EVERY_NODE = '';
/** Transactions that write last milliseconds; one that lasts longer is asked for less often. */
const ENDED_MS_MIN = 10;
const ENDED_MS_MAX = 500;

export interface Following {
  readonly isStopping: () => boolean;
  /** Has its turn after each look: something always happens to somebody. True: it has more to do. */
  readonly besides?: () => Promise<boolean>;
  /**
   * Of a process, from one call to the next: up to this event it has found nothing left to read. As long as nothing happens it looks at no flow but
   * those that have failed, or were read in part.
   */
  readonly memory?: { upTo?: bigint };
}

/** Ends when no flow has anything to read, or it is to stop. */
export async function followPeople(ctx: Context, { isStopping, besides, memory = {} }: Following): Promise<void> {
  const waiting = new RoundRobin();
  for (;;) {
    const reading = await nextReading(ctx, isStopping);
    if (!reading) return;
    const flows = new Map<bigint, FlowBehind>();
    for (const flow of await flowsBehind(ctx.db, reading.upTo, {
      max: FLOWS_AT_ONCE,
      isTriedAgain: memory.upTo === reading.upTo,
    }))
      flows.set(flow.automationId, flow);
    waiting.add([...flows.values()].map((flow) => ({ ...flow, node: EVERY_NODE })));
    const lookAgainAt = performance.now() + LOOK_MS;
    let [hasRead, isAll] = [false, flows.size < FLOWS_AT_ONCE];
    for (;;) {
      if (isStopping()) return;
      const next = performance.now() < lookAgainAt ? waiting.next() : undefined;
      if (!next) break;
      const flow = flows.get(next.key.automationId);
      // It has read all that it had to, or was stopped.
      if (!flow) continue;
      const read = await followed(ctx, flow, reading);
      if (read === 'some') waiting.again(next);
      hasRead ||= read === 'all' || read === 'some';
      // Whoever reads it now may not come to its end, or a plugin is being asked.
      if (read === 'none') isAll = false;
    }
    if (isAll && waiting.isEmpty()) memory.upTo = reading.upTo;
    const hasMore = await besides?.();
    // A flow that fails may take the whole look: those behind it have their turn in the next one.
    if (!hasRead && hasMore !== true && waiting.isEmpty()) return;
  }
}

/** Undefined: it is to stop. */
async function nextReading(ctx: Context, isStopping: () => boolean): Promise<Reading | undefined> {
  const now = await databaseNow(ctx.db);
  // In this order: whoever wrote an event up to this id is among the writers, or has ended.
  const upTo = await lastPersonEventId(ctx.database);
  const areDone = await haveWritten(ctx, await openPersonEventWriters(ctx.database), isStopping);
  return areDone ? { upTo, now } : undefined;
}

async function haveWritten(ctx: Context, writers: readonly string[], isStopping: () => boolean): Promise<boolean> {
  for (let waitMs = ENDED_MS_MIN; !isStopping(); waitMs = Math.min(waitMs * 2, ENDED_MS_MAX)) {
    if (writers.length === 0 || (await haveEnded(ctx.database, writers, openPersonEventWriters))) return true;
    await sleep(waitMs);
  }
  return false;
}

/** A flow whose events cannot be handled is tried again later. */
async function followed(
  ctx: Context,
  flow: FlowBehind,
  reading: Reading,
): Promise<Awaited<ReturnType<typeof followFlow>> | 'failed'> {
  try {
    return await followFlow(ctx, flow, reading);
  } catch (error) {
    await postponeEvents(ctx, flow, error);
    return 'failed';
  }
}
