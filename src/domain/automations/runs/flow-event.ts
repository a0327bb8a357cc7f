/** Which events of people begin flows, end waits, and are goals or exits. Pure. */
import type { PersonEvent, PersonEventKind } from '../../../events/person-event.ts';
import { unreachable } from '../../../lib/errors.ts';
import { fold } from '../../audience/segments/condition-read-model.ts';
import { isActivity, isAskedFor, type AskedActivity, type AwaitedActivity } from '../flow/asked-activity.ts';
import { entryKeyOf } from '../flow/entry-key.ts';
import { nameOfPluginEvent, type AwaitedEvent } from '../flow/flow-parts.ts';
import { isTrueOf } from '../flow/flow-payload.ts';
import type { Entry } from '../flow/flow-triggers.ts';
import type { Flow } from '../flow/flow.ts';
import { isOpenOrClick, type FlowEvent } from '../flow/open-or-click.ts';
import type { Run } from './run.ts';

type Trigger = Flow['triggers'][number];
/** What is recorded as events of people; opens and clicks are not. */
export type AwaitedPersonEvent = Exclude<AwaitedEvent, AwaitedActivity>;
type AskedEvent = AwaitedEvent | AskedActivity;

/** The trigger's event; undefined: dates, timetables and requests bring people otherwise. */
export function eventOfTrigger(trigger: Trigger): AskedEvent | undefined {
  switch (trigger.type) {
    case 'subscribed':
    case 'confirmed':
    case 'unsubscribed':
    case 'tag_added':
    case 'tag_removed':
    case 'field_changed':
    case 'event':
    case 'plugin_event':
    case 'campaign_opened':
    case 'campaign_clicked':
      return trigger;
    default:
      return undefined;
  }
}

/** The kinds of events that may be this one. */
function personKindsOf(asked: AwaitedPersonEvent): readonly PersonEventKind[] {
  switch (asked.type) {
    case 'subscribed':
      return ['added', 'confirmed', 'resubscribed'];
    case 'tag_added':
      return ['added', 'tagged'];
    case 'tag_removed':
      return ['untagged'];
    case 'field_changed':
      return ['changed'];
    case 'confirmed':
    case 'unsubscribed':
    case 'event':
      return [asked.type];
    case 'plugin_event':
      return ['event'];
    default:
      return unreachable(asked);
  }
}

function isActivityAsked(asked: AskedEvent): asked is AskedActivity {
  return asked.type === 'campaign_opened' || asked.type === 'campaign_clicked' || isActivity(asked);
}

/** The trigger's event if it is one of those that are recorded of people. */
export function personEventOfTrigger(trigger: Trigger): AwaitedPersonEvent | undefined {
  const asked = eventOfTrigger(trigger);
  return asked && !isActivityAsked(asked) ? asked : undefined;
}

/** Whether this is what is asked for. Who comes to a list with tags gets them there. */
export function isEvent(asked: AskedEvent, event: FlowEvent): boolean {
  if (isActivityAsked(asked)) return isOpenOrClick(event) && isAskedFor(asked, event);
  const { kind, name, data } = event;
  if (!personKindsOf(asked).some((one) => one === kind)) return false;
  switch (asked.type) {
    case 'subscribed':
      return kind !== 'added' || textsAt(data, 'status').length === 0;
    case 'tag_added':
    case 'tag_removed':
      return textsAt(data, 'tags').some((tag) => fold(tag) === fold(asked.tag));
    case 'field_changed':
      return textsAt(data, 'fields').includes(asked.field);
    case 'event':
    case 'plugin_event':
      return name === recordedName(asked) && (asked.where ?? []).every((condition) => isTrueOf(data, condition));
    default:
      return true;
  }
}

type NamedEvent = Extract<AwaitedEvent, { type: 'event' | 'plugin_event' }>;

function isNamed(asked: AwaitedEvent): asked is NamedEvent {
  return asked.type === 'event' || asked.type === 'plugin_event';
}

function recordedName(asked: NamedEvent): string {
  return asked.type === 'event' ? asked.name : nameOfPluginEvent(asked);
}

/** The same for a run: it is about a mail of this run, or has the key of the entry where that is asked for (D77, D78). */
export function isEventOf(
  asked: AwaitedEvent,
  event: FlowEvent,
  { entry, entryKey, id }: { readonly entry: Entry } & Pick<Run, 'id' | 'entryKey'>,
): boolean {
  if (!isEvent(asked, event)) return false;
  if (isOpenOrClick(event)) return event.mail?.runId === id;
  return !isNamed(asked) || asked.sameKey !== true || entryKeyOf(event.data, entry) === entryKey;
}

/** What of people's events has to be read to find it. */
export function soughtBy(asked: AwaitedPersonEvent) {
  const kinds = personKindsOf(asked);
  if (!isNamed(asked)) return { kinds, name: null, needsData: !['confirmed', 'unsubscribed'].includes(asked.type) };
  return { kinds, name: recordedName(asked), needsData: (asked.where ?? []).length > 0 || asked.sameKey === true };
}

/** From when, and after which one, events count. */
export interface Counting {
  readonly from: Date;
  readonly after: bigint;
}

/** Opens and clicks are counted by their time: they have numbers of their own. */
export function isCounted(event: FlowEvent, { from, after }: Counting): boolean {
  return event.at >= from && (isOpenOrClick(event) || event.id > after);
}

/** For goals, exits, and waits that count from the entry. */
export function sinceEntry({ eventsFrom, eventsAfter }: Pick<Run, 'eventsFrom' | 'eventsAfter'>): Counting {
  return { from: eventsFrom, after: eventsAfter };
}

function textsAt(data: PersonEvent['data'], name: string): readonly string[] {
  const value = data?.[name];
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((one) => typeof one === 'string');
}
