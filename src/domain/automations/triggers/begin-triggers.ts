/**
 * Begins with the triggers of a flow that was published or activated: from now on they look at people. Who is in a segment already does not
 * enter (D71): some thousands are remembered at once, so that a change right after it counts, the others as soon as workers come to them.
 */
import type { TransactionContext } from '../../context.ts';
import { questionsOf } from '../../audience/segments/plugin-condition.ts';
import { findSegment } from '../../audience/segments/segment-store.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { readActivityFromNow } from '../events/flow-activity-store.ts';
import { activityAskedBy } from '../flow/asked-activity.ts';
import type { Flow } from '../flow/flow.ts';
import { liveFlowOf } from '../runs/live-flow.ts';
import { walkOn } from './look-at-people.ts';
import type { VersionKey } from '../runs/run.ts';
import { beginTriggerRows, readTrigger, triggersOfSegments, type NewTrigger } from './trigger-store.ts';
import { isWatched, keyOfTrigger, type TriggerKey, type WatchedTrigger } from './watched-trigger.ts';

/** Somebody waits for the answer. */
const REMEMBER_MS_MAX = 2_000;

export interface BeginTriggers {
  readonly key: VersionKey;
  readonly uid: string;
  readonly listId: bigint;
  readonly flow: Flow;
  /** The flow was not active before: what was to come meanwhile does not. */
  readonly isAnew: boolean;
  /** But times that have come since an outage stopped it are kept. */
  readonly keepsSlots?: boolean;
}

/** In the transaction that publishes or activates. Those of the last version that mean the same go on as they are. */
export async function beginTriggers(
  ctx: TransactionContext,
  { key, uid, listId, flow, isAnew, keepsSlots = false }: BeginTriggers,
): Promise<void> {
  const { customerId, automationId } = key;
  const watched = new Map(flow.triggers.filter(isWatched).map((one) => [keyOfTrigger(one), one]));
  const now = await databaseNow(ctx.db);
  const triggers: NewTrigger[] = [];
  // One after the other: the transaction has one connection.
  for (const [name, one] of watched)
    triggers.push({
      key: name,
      segmentId: await segmentOf(ctx, customerId, one),
      field: one.type === 'date_field' ? one.field : null,
    });
  await beginTriggerRows(ctx.tx, { customerId, automationId, listId, triggers, now, isAnew, keepsSlots });
  await readActivityFromNow(ctx.tx, key, { ...activityAskedBy(flow), isAnew: isAnew && !keepsSlots });
  const live = liveFlowOf(key, { uid, listId, flow });
  const end = performance.now() + REMEMBER_MS_MAX;
  for (const one of await triggersOfSegments(ctx.db, key)) {
    const trigger = watched.get(one.key);
    if (trigger) await rememberFirst({ ctx, live, trigger, now, end }, one);
  }
}

async function segmentOf(
  { db }: TransactionContext,
  customerId: bigint,
  trigger: WatchedTrigger,
): Promise<bigint | null> {
  if (!('segmentUid' in trigger)) return null;
  const segment = await findSegment(db, { customerId, uid: trigger.segmentUid }, 'use');
  if (!segment) throw new Error('The segment of a trigger is gone.');
  return segment.id;
}

interface Remembering extends Omit<Parameters<typeof walkOn>[0], 'key' | 'answers'> {
  /** By `performance.now()`. */
  readonly end: number;
}

async function rememberFirst({ end, ...work }: Remembering, key: TriggerKey): Promise<void> {
  const row = await readTrigger(work.ctx.db, key, { now: work.now, hold: true });
  // Plugins are asked outside of transactions: by a worker.
  if (!row?.rule || questionsOf(row.rule).size > 0) return;
  let after = row.walkAfter;
  while (after !== null && performance.now() < end)
    after = (await walkOn({ ...work, key, answers: new Map() }, row, after)).upTo;
}
