/** Which events of people begin flows, end waits, and are goals or exits. Pure. */
import type { PersonEvent, PersonEventKind } from '../../events/person-event.ts';
import { unreachable } from '../../lib/errors.ts';
import { fold } from '../audience/segments/condition-read-model.ts';
import { entryKeyOf } from './entry-key.ts';
import type { AwaitedEvent } from './flow-parts.ts';
import { isTrueOf } from './flow-payload.ts';
import type { Entry } from './flow-triggers.ts';
import type { Flow } from './flow.ts';
import type { Run } from './run.ts';

type Trigger = Flow['triggers'][number];
type AskedEvent = Exclude<AwaitedEvent, { type: 'opened' | 'clicked' }>;

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
      return trigger;
    default:
      return undefined;
  }
}

/** The kinds of events that may be this one. */
export function kindsOf(asked: AwaitedEvent): readonly PersonEventKind[] {
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
    case 'opened':
    case 'clicked':
      return [];
    default:
      return unreachable(asked);
  }
}

/** Whether this is what is asked for. Who comes to a list with tags gets them there. */
export function isEvent(asked: AwaitedEvent, { kind, name, data }: PersonEvent): boolean {
  if (!kindsOf(asked).includes(kind)) return false;
  switch (asked.type) {
    case 'subscribed':
      return kind !== 'added' || textsAt(data, 'status').length === 0;
    case 'tag_added':
    case 'tag_removed':
      return textsAt(data, 'tags').some((tag) => fold(tag) === fold(asked.tag));
    case 'field_changed':
      return textsAt(data, 'fields').includes(asked.field);
    case 'event':
      return name === asked.name && (asked.where ?? []).every((condition) => isTrueOf(data, condition));
    default:
      return true;
  }
}

/** The same for somebody in the flow: the event has the key of the entry where that is asked for (D77). */
export function isEventOf(
  asked: AwaitedEvent,
  event: PersonEvent,
  { entry, entryKey }: { readonly entry: Entry; readonly entryKey: string },
): boolean {
  if (!isEvent(asked, event)) return false;
  return asked.type !== 'event' || asked.sameKey !== true || entryKeyOf(event.data, entry) === entryKey;
}

/** What of people's events has to be read to find it. */
export function soughtBy(asked: AwaitedEvent) {
  const kinds = kindsOf(asked);
  if (asked.type !== 'event')
    return { kinds, name: null, needsData: !['confirmed', 'unsubscribed'].includes(asked.type) };
  return { kinds, name: asked.name, needsData: (asked.where ?? []).length > 0 || asked.sameKey === true };
}

/** From when, and after which one, events count. */
export interface Counting {
  readonly from: Date;
  readonly after: bigint;
}

export function isCounted({ at, id }: PersonEvent, { from, after }: Counting): boolean {
  return at >= from && id > after;
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
