/**
 * Does the work of triggers that look at people by themselves: trigger after trigger, a batch each, until none has any (D89). A batch is
 * one transaction: what dies in the middle has not happened. Any number of processes may do it at once.
 */
import { inTransaction, type Context } from '../../context.ts';
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Advancing } from '../engine/advance-due.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import { lookAtPeople, PEOPLE_AT_ONCE } from './look-at-people.ts';
import { eraseTrigger } from './trigger-person-store.ts';
import { readyAnswers } from '../work/rule-answers.ts';
import { beginWalk, delayTrigger, holdGone, readTrigger, triggersAtWork } from './trigger-store.ts';
import { isWatched, keyOfTrigger, type TriggerKey, type WatchedRow, type WatchedTrigger } from './watched-trigger.ts';

/** Of one round. */
const TRIGGERS_AT_ONCE = 1_000;
/** What a trigger needs may be back then, such as a plugin. */
const POSTPONED_MS = 30_000;

/** How much was done. Ends when there is nothing to do, or it is to stop. */
export async function runTriggers(ctx: Context, { now, isStopping, isQuick = false }: Advancing): Promise<number> {
  let total = 0;
  for (;;) {
    const at = await now();
    let done = 0;
    for (const { isGone, ...key } of await triggersAtWork(ctx.db, at, { max: TRIGGERS_AT_ONCE, isQuick })) {
      if (isStopping()) return total + done;
      done += isGone ? await erased(ctx, key) : await tried(ctx, key, at);
    }
    total += done;
    if (done === 0) return total;
  }
}

/** Some of the rows of a trigger that is gone: a flow that is published again meanwhile may have it once more. */
function erased(ctx: Context, key: TriggerKey): Promise<number> {
  return inTransaction(ctx, async ({ tx }) => ((await holdGone(tx, key)) ? eraseTrigger(tx, key, PEOPLE_AT_ONCE) : 0));
}

/** One trigger that fails holds up no other. */
async function tried(ctx: Context, key: TriggerKey, now: Date): Promise<number> {
  try {
    return await workOnTrigger(ctx, key, now);
  } catch (error) {
    await postponed(ctx, key, { error, now });
    return 0;
  }
}

async function postponed(
  ctx: Context,
  key: TriggerKey,
  { error, now }: { readonly error: unknown; readonly now: Date },
): Promise<void> {
  ctx.log.warn('automations.trigger_postponed', { ...key, message: messageOf(error) });
  await delayTrigger(ctx.db, key, new Date(now.getTime() + POSTPONED_MS));
}

async function workOnTrigger(ctx: Context, key: TriggerKey, now: Date): Promise<number> {
  const known = await readTrigger(ctx.db, key, { now, hold: false });
  const found = known && (await triggerOf(ctx, known));
  if (!known || !found) return 0;
  const answers = await answersFor(ctx, key, { ...found, rule: known.rule, now });
  if (!answers) return 0;
  return inTransaction(ctx, async (tx) => {
    const row = await readTrigger(tx.db, key, { now, hold: true });
    // Another process works on it, or there is a new version.
    if (!row || row.version !== known.version) return 0;
    if (row.isOutdated || (row.isHourDue && row.walkAfter === null)) {
      await beginWalk(tx.tx, key, { now, enters: !row.isOutdated });
      return 1;
    }
    return lookAtPeople({ ...found, ctx: tx, key, now, answers }, row);
  });
}

async function triggerOf(ctx: Context, { customerId, automationId, version, key }: WatchedRow) {
  const live = await liveFlow(ctx, { customerId, automationId, version });
  const trigger = live?.flow.triggers.filter(isWatched).find((one) => keyOfTrigger(one) === key);
  return live && trigger ? { live, trigger } : undefined;
}

interface Asked {
  readonly live: LiveFlow;
  readonly trigger: WatchedTrigger;
  readonly rule: SegmentRule | null;
  readonly now: Date;
}

/** Plugins are asked outside of transactions. Undefined: they are being asked, and other triggers go on meanwhile. */
function answersFor(
  ctx: Context,
  key: TriggerKey,
  { live, trigger, rule, now }: Asked,
): Promise<AnswersByQuestion | undefined> {
  return readyAnswers(ctx, live, {
    rules: [rule, trigger.if].filter((one) => one !== null && one !== undefined),
    asker: `trigger ${key.id}`,
    onFailure: (error) => postponed(ctx, key, { error, now }),
  });
}
