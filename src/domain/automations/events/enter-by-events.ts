/** Lets people in to whom something happened that begins the flow, if its triggers' filters are true of them (D70, D72). */
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import { peopleAmong } from '../../audience/segments/segment-read-model.ts';
import type { TransactionContext } from '../../context.ts';
import { enterPeople, type Entrant } from '../entries/enter-people.ts';
import { entryKeyOf } from '../flow/entry-key.ts';
import { eventOfTrigger, isEvent } from '../runs/flow-event.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { isOpenOrClick, type FlowEvent } from '../flow/open-or-click.ts';

export interface Followed {
  readonly events: readonly FlowEvent[];
  /** Of plugins, to the rules of the flow. */
  readonly answers: AnswersByQuestion;
  readonly now: Date;
}

/** Whether the event is one with which the flow begins, whoever it is. */
export function mayStart({ flow }: LiveFlow, event: FlowEvent): boolean {
  return event.startsFlows && flow.triggers.some((trigger) => starts(trigger, event));
}

type Trigger = LiveFlow['flow']['triggers'][number];

function starts(trigger: Trigger, event: FlowEvent): boolean {
  const asked = eventOfTrigger(trigger);
  return asked !== undefined && isEvent(asked, event);
}

/** The events that the trigger takes, of those who pass its filter. */
async function takenBy(
  ctx: TransactionContext,
  { key, listId }: LiveFlow,
  trigger: Trigger,
  { events, answers, now }: Followed,
): Promise<readonly FlowEvent[]> {
  const found = events.filter((event) => event.startsFlows && starts(trigger, event));
  const rule = 'if' in trigger ? trigger.if : undefined;
  if (found.length === 0 || !rule) return found;
  const ids = [...new Set(found.map(({ personId }) => personId))];
  const list = { customerId: key.customerId, listId, rule };
  const people = await peopleAmong(ctx.db, list, { ids, asOf: now, answers });
  return found.filter(({ personId }) => people.has(personId));
}

/** An event brings a person in by the first of the triggers that takes it. Returns how many entered. */
export async function enterByEvents(ctx: TransactionContext, live: LiveFlow, followed: Followed): Promise<number> {
  const reasons = new Map<FlowEvent, string>();
  for (const trigger of live.flow.triggers)
    for (const event of await takenBy(ctx, live, trigger, followed))
      if (!reasons.has(event)) reasons.set(event, trigger.type);
  const entrants = followed.events.flatMap((event): Entrant[] => {
    const reason = reasons.get(event);
    if (reason === undefined) return [];
    const payload = event.kind === 'event' ? event.data : null;
    const { personId, depth, recordedAt: at } = event;
    const entrant = { personId, depth, at, reason, payload, entryKey: entryKeyOf(payload, live.flow.entry) };
    return [isOpenOrClick(event) ? entrant : { ...entrant, event }];
  });
  if (entrants.length === 0) return 0;
  const entered = await enterPeople(ctx, live, { entrants, now: followed.now });
  return entered.filter((one) => 'runId' in one).length;
}
