/**
 * Events from outside (`POST /events`): what people did elsewhere, such as an order. They are recorded beside what happens here, and flows
 * begin by them, wait for them and end by them. A batch is answered row by row: a wrong one keeps no other from being recorded.
 */
import { z } from 'zod';
import { isUid, subscriberIdOf } from '../../../lib/ids.ts';
import { checkInput, emailKey, parseInput } from '../../../lib/text.ts';
import { recordPersonEvents, type NewPersonEvent } from '../../../events/person-event-store.ts';
import { takeFromWindows } from '../../../db/rate-windows.ts';
import { eventName } from '../../audience/segments/conditions.ts';
import { endChecks, inTransaction, viewerOf, type Context } from '../../context.ts';
import { tooManyEvents } from '../automation-errors.ts';
import { isStorable } from '../flow/checked-draft.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { nameOfPluginEvent } from '../flow/flow-parts.ts';
import { PAYLOAD_BYTES_MAX } from '../flow/flow-payload.ts';
import { keylessNotes, type RecordedEvent } from './keyless-events.ts';
import { listsByUid, peopleOfReferences, type FoundPerson, type PersonReference } from './outside-event-store.ts';

/** One transaction of some 100 ms. */
export const EVENTS_AT_ONCE_MAX = 1_000;
const KEY_LENGTH_MAX = 200;
const REFERENCE_LENGTH_MAX = 320;
const TIME_LENGTH_MAX = 40;
const DAY_MS = 86_400_000;
const DAY_SECONDS = 86_400;
/** Older ones are mistakes, and no question goes back further. */
const DAYS_BACK_MAX = 366;
/** Clocks differ. */
const AHEAD_MS_MAX = 5 * 60_000;
/** What happened earlier is history: nobody expects a mail about it now. */
const STARTS_WITHIN_MS = DAY_MS;

const ID = /^[1-9]\d{0,15}$/;

export const outsideEventInput = z.object({
  name: eventName,
  subscriber: z.string().trim().min(1).max(REFERENCE_LENGTH_MAX),
  listUid: z.string().refine(isUid, 'must be a uid').nullish(),
  key: z.string().min(1).max(KEY_LENGTH_MAX).nullish(),
  payload: z
    .record(z.string(), z.unknown())
    .refine(
      (payload) => Buffer.byteLength(JSON.stringify(payload)) <= PAYLOAD_BYTES_MAX,
      `may not be larger than ${PAYLOAD_BYTES_MAX / 1024} KiB`,
    )
    .refine((payload) => isStorable(payload), 'must not contain NUL or half of a character')
    .nullish(),
  occurredAt: z.iso
    .datetime({ offset: true })
    .max(TIME_LENGTH_MAX)
    .nullish()
    .describe(`At most ${TIME_LENGTH_MAX} characters.`),
});

export interface OutsideEventInput {
  readonly name: string;
  /** Uid, id or address. */
  readonly subscriber: string;
  readonly listUid?: string | null | undefined;
  readonly key?: string | null | undefined;
  readonly payload?: unknown;
  readonly occurredAt?: string | null | undefined;
}

export const batchInput = z.object({ events: z.array(z.unknown()).min(1).max(EVENTS_AT_ONCE_MAX) });

export type EventFault = 'EVENT_INVALID' | 'LIST_NOT_FOUND' | 'SUBSCRIBER_NOT_FOUND' | 'LIST_REQUIRED';

/** Without a code it is recorded; a message says then what does not come of it. */
export interface EventAnswer {
  readonly code: EventFault | null;
  readonly message: string | null;
}

type Checked = z.output<typeof outsideEventInput>;

const RECORDED: EventAnswer = { code: null, message: null };
const faultOf = (code: EventFault, message: string): EventAnswer => ({ code, message });

/**
 * An answer for each event, in their order. Throws ValidationError on `events` for none or too many, RateLimitedError `TOO_MANY_EVENTS` over the
 * installation's limit for a day.
 */
export async function recordOutsideEvents(
  ctx: Context,
  given: { readonly events: readonly OutsideEventInput[] },
): Promise<readonly EventAnswer[]> {
  const { events } = parseInput(batchInput, given);
  const { customerId, plugin } = viewerOf(ctx);
  endChecks(ctx);
  await takeFromQuota(ctx, customerId, events.length);
  return inTransaction(ctx, async (tx) => {
    const { db } = tx;
    const now = await databaseNow(db);
    const checked = events.map((event) => checkedEvent(event, now));
    const uids = checked.flatMap((one) => ('listUid' in one && one.listUid ? [one.listUid] : []));
    const lists = await listsByUid(db, customerId, uids);
    const references = checked.map((one) => ('name' in one ? referenceOf(one, lists) : undefined));
    const found = Map.groupBy(await peopleOfReferences(db, customerId, references), ({ no }) => no);
    const rows = checked.map((one, no) => placed(one, { lists, people: found.get(no) ?? [] }));
    const known = rows.flatMap((row) => ('person' in row ? [row] : []));
    const byList = Map.groupBy(known, ({ person }) => person.listId);
    const noteOf = await keylessNotes(tx, { customerId, listIds: [...byList.keys()] });
    const answers = new Map<Placed, EventAnswer>();
    for (const [listId, ofList] of byList) {
      const events = ofList.map((row) => newEvent(row, { plugin, now }));
      await recordPersonEvents(db, { customerId, listId }, events);
      for (const [no, event] of events.entries()) {
        const [row, message] = [ofList[no], noteOf(listId, event)];
        if (row && message !== null) answers.set(row, { code: null, message });
      }
    }
    return rows.map((row) => ('person' in row ? (answers.get(row) ?? RECORDED) : row));
  });
}

/** Before the transaction: calls of one customer do not wait for each other. Wrong events count, too: they are work as well. */
async function takeFromQuota({ db, installation }: Context, customerId: bigint, n: number): Promise<void> {
  const { eventsPerDay: max = 0 } = installation.limits;
  if (max === 0) return;
  const { refusedBy, used } = await takeFromWindows(
    db,
    [{ key: `events:${customerId}`, max, seconds: DAY_SECONDS }],
    n,
  );
  if (refusedBy) throw tooManyEvents({ max, used: used.get(refusedBy.key) ?? 0, seconds: refusedBy.endsInSeconds });
}

function checkedEvent(given: unknown, now: Date): Checked | EventAnswer {
  const { data, errors } = checkInput(outsideEventInput, given);
  if (errors) {
    const [first] = Object.entries(errors);
    return faultOf('EVENT_INVALID', first ? `${first[0]}: ${first[1].join(' ')}` : 'The event is not valid.');
  }
  const at = timeOf(data, now);
  if (at.getTime() > now.getTime() + AHEAD_MS_MAX)
    return faultOf('EVENT_INVALID', 'occurredAt: The time must not be in the future.');
  if (at.getTime() < now.getTime() - DAYS_BACK_MAX * DAY_MS)
    return faultOf('EVENT_INVALID', `occurredAt: The time must not be more than ${DAYS_BACK_MAX} days ago.`);
  return data;
}

function timeOf({ occurredAt }: Checked, now: Date): Date {
  return occurredAt ? new Date(occurredAt) : now;
}

function referenceOf(
  { subscriber, listUid }: Checked,
  lists: ReadonlyMap<string, bigint>,
): PersonReference | undefined {
  const listId = listUid ? lists.get(listUid) : undefined;
  if (listUid && listId === undefined) return undefined;
  if (subscriber.includes('@')) return { id: null, emailKey: emailKey(subscriber), listId: listId ?? null };
  if (isUid(subscriber)) return { id: subscriberIdOf(subscriber), emailKey: null, listId: listId ?? null };
  return ID.test(subscriber) ? { id: BigInt(subscriber), emailKey: null, listId: listId ?? null } : undefined;
}

interface Placed {
  readonly event: Checked;
  readonly person: FoundPerson;
}

function placed(
  event: Checked | EventAnswer,
  { lists, people }: { readonly lists: ReadonlyMap<string, bigint>; readonly people: readonly FoundPerson[] },
): Placed | EventAnswer {
  if (!('name' in event)) return event;
  if (event.listUid && !lists.has(event.listUid)) return faultOf('LIST_NOT_FOUND', 'There is no list with this uid.');
  const [person, other] = people;
  if (!person) return faultOf('SUBSCRIBER_NOT_FOUND', 'There is no such subscriber.');
  if (other) return faultOf('LIST_REQUIRED', 'This address is on several lists: name the list.');
  return { event, person };
}

/** The key is a value of the payload, where flows find it. The name of a plugin's event begins with the plugin's. */
function newEvent(
  { event, person }: Placed,
  { plugin, now }: { readonly plugin: string | undefined; readonly now: Date },
): NewPersonEvent & RecordedEvent {
  const { key, payload } = event;
  const name = plugin === undefined ? event.name : nameOfPluginEvent({ plugin, name: event.name });
  const at = timeOf(event, now);
  const data = key ? { key, ...payload } : (payload ?? null);
  const startsFlows = now.getTime() - at.getTime() <= STARTS_WITHIN_MS;
  return { personId: person.id, kind: 'event', at, name, data, startsFlows };
}
