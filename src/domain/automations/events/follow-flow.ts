/**
 * Reads on for one flow: the next events of its list let people in, end waits, and take people out by goals and exits. Position and effects
 * are one transaction: what dies in the middle has not happened.
 */
import type { AnswersByQuestion, SegmentRule } from '../../audience/segments/segment.ts';
import { readPersonEvents } from '../../../events/person-event-read-model.ts';
import type { PersonEvent } from '../../../events/person-event.ts';
import { inTransaction, type Context } from '../../context.ts';
import { enterByEvents, mayStart } from './enter-by-events.ts';
import { holdPosition, movePosition, type FlowBehind } from './flow-follower-store.ts';
import { occupiedNodes } from '../runs/count-read-model.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';
import { awaitsEvents, isAwaited, moveByEvents } from './move-by-events.ts';
import { postponeEvents } from './postpone-events.ts';
import { readyAnswers } from '../work/rule-answers.ts';
import { findByKeys } from '../runs/run-store.ts';
import { rulesOfWaysOut } from '../engine/ways-out.ts';

/** One transaction of some 100 ms. */
const EVENTS_AT_ONCE = 1_000;
/** The same: each takes some 10 statements. */
const PIECES_AT_ONCE = 20;

export interface Reading {
  /** Id of the last event that may be read. */
  readonly upTo: bigint;
  /** The database's clock, before `upTo` was read. */
  readonly now: Date;
}

/** Whether it read all, or some of it; none if another process does, or while a plugin is asked. */
export async function followFlow(
  ctx: Context,
  behind: FlowBehind,
  { upTo, now }: Reading,
): Promise<'all' | 'some' | 'none'> {
  const { customerId, automationId, version, listId } = behind;
  const live = await liveFlow(ctx, { customerId, automationId, version });
  if (!live) throw new Error('The version of the flow is gone.');
  const answers = await answersFor(ctx, live, behind);
  if (!answers) return 'none';
  return inTransaction(ctx, async (tx) => {
    const held = await holdPosition(tx.tx, behind);
    if (!held) return 'none';
    const range = { after: held.position, since: held.since, upTo, max: EVENTS_AT_ONCE };
    const { events, isAll } = await readPersonEvents(tx.db, { customerId, listId }, range);
    await findByKeys(tx.tx);
    const pieces = piecesOf(events, live);
    const some = pieces.slice(0, PIECES_AT_ONCE);
    for (const piece of some) {
      const followed = { events: piece, answers, now };
      await moveByEvents(tx, live, followed);
      await enterByEvents(tx, live, followed);
    }
    const last = some.at(-1)?.at(-1);
    const isDone = isAll && some.length === pieces.length;
    const moved = isDone || !last ? { position: upTo, since: now } : { position: last.id, since: last.recordedAt };
    const isRead = moved.position === upTo;
    await movePosition(tx.tx, behind, { ...moved, isAll: isRead });
    return isRead ? 'all' : 'some';
  });
}

/** To its rules about people. Undefined: a plugin is being asked, and other flows go on meanwhile. */
export async function answersFor(
  ctx: Context,
  live: LiveFlow,
  behind: FlowBehind,
): Promise<AnswersByQuestion | undefined> {
  return readyAnswers(ctx, live, {
    rules: await rulesOf(ctx, live),
    asker: `events ${behind.automationId} ${behind.version}`,
    onFailure: (error) => postponeEvents(ctx, behind, error),
  });
}

/** Of its triggers, and of goals and exits: also those of earlier versions that people are still in. */
async function rulesOf(ctx: Context, live: LiveFlow): Promise<readonly SegmentRule[]> {
  const { key } = live;
  const filters = live.flow.triggers.flatMap((trigger) => ('if' in trigger && trigger.if ? [trigger.if] : []));
  const earlier = key.version > 1 ? await occupiedNodes(ctx.db, key, key.version) : [];
  const versions = new Set(earlier.map(({ version }) => version));
  const flows = await Promise.all([...versions].map((version) => liveFlow(ctx, { ...key, version })));
  return [...filters, ...[live, ...flows].flatMap((flow) => (flow ? rulesOfWaysOut(flow) : []))];
}

/**
 * Cut before an event for which people of the same piece wait who enter by an earlier one: it may be the goal of that entry, so it has to
 * find it there.
 */
function piecesOf(events: readonly PersonEvent[], live: LiveFlow): readonly (readonly PersonEvent[])[] {
  if (!awaitsEvents(live)) return [events];
  const pieces: PersonEvent[][] = [[]];
  const entering = new Set<bigint>();
  for (const event of events) {
    if (entering.has(event.personId) && isAwaited(live, event)) {
      entering.clear();
      pieces.push([]);
    }
    if (mayStart(live, event)) entering.add(event.personId);
    pieces.at(-1)?.push(event);
  }
  return pieces;
}
