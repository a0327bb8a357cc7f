/**
 * Reads on for one flow: the next events of its list let people in, end waits, and take people out by goals and exits. Position and effects
 * are one transaction: what dies in the middle has not happened.
 */
import { readPersonEvents } from '../../events/person-event-read-model.ts';
import type { PersonEvent } from '../../events/person-event.ts';
import { inTransaction, type Context } from '../context.ts';
import { enterByEvents, mayStart } from './enter-by-events.ts';
import { holdPosition, movePosition, type FlowBehind } from './flow-follower-store.ts';
import { liveFlow, type LiveFlow } from './live-flow.ts';
import { awaitsEvents, moveByEvents } from './move-by-events.ts';
import { answersToRules } from './rule-answers.ts';
import { findByKeys } from './run-store.ts';

/** One transaction of some 100 ms. */
const EVENTS_AT_ONCE = 1_000;

export interface Reading {
  /** Id of the last event that may be read. */
  readonly upTo: bigint;
  /** The database's clock, before `upTo` was read. */
  readonly now: Date;
}

/** Whether it read on; not if another process does. */
export async function followFlow(ctx: Context, behind: FlowBehind, { upTo, now }: Reading): Promise<boolean> {
  const { customerId, automationId, version, listId } = behind;
  const live = await liveFlow(ctx, { customerId, automationId, version });
  if (!live) throw new Error('The version of the flow is gone.');
  const answers = await answersToRules(ctx, live, rulesOf(live));
  return inTransaction(ctx, async (tx) => {
    const held = await holdPosition(tx.tx, behind);
    if (!held) return false;
    const range = { after: held.position, since: held.since, upTo, max: EVENTS_AT_ONCE };
    const all = await readPersonEvents(tx.db, { customerId, listId }, range);
    const events = upToSecond(all, live);
    await findByKeys(tx.tx);
    const followed = { events, answers, now };
    await moveByEvents(tx, live, followed);
    await enterByEvents(tx, live, followed);
    const last = events.at(-1);
    const isAll = events.length === all.length && all.length < EVENTS_AT_ONCE;
    const moved = isAll || !last ? { position: upTo, since: now } : { position: last.id, since: last.recordedAt };
    await movePosition(tx.tx, behind, moved);
    return true;
  });
}

function rulesOf({ flow: { triggers, goals, exits } }: LiveFlow) {
  return [
    ...triggers.flatMap((trigger) => ('if' in trigger && trigger.if ? [trigger.if] : [])),
    ...[...goals, ...exits].flatMap(({ person }) => person ?? []),
  ];
}

/**
 * Up to the next event of somebody who enters by one of these: it may be the goal of that entry, so it has to find it there. Flows that
 * wait for nothing read all at once.
 */
function upToSecond(events: readonly PersonEvent[], live: LiveFlow): readonly PersonEvent[] {
  if (!awaitsEvents(live)) return events;
  const entering = new Set<bigint>();
  const second = events.findIndex((event) => {
    if (entering.has(event.personId)) return true;
    if (mayStart(live, event)) entering.add(event.personId);
    return false;
  });
  return second === -1 ? events : events.slice(0, second);
}
