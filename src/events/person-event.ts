/**
 * What happens to people of lists, as `hot.person_event` keeps it: one row for each person and kind, written in the transaction in which it
 * happens. Rows of `subscriber` are recorded by triggers (prisma/functions/record_person_events.sql), so that no statement can forget it; what
 * comes from outside by `recordPersonEvents`. Ids and names only: values of people are read where they are kept.
 */

/** Numbers are stored: they are only added to. */
export const PERSON_EVENT_KINDS = {
  /** Came to the list. Data: `status` if it is not `subscribed`, `tags` if there are any. */
  added: 1,
  /** Was `pending` or `unconfirmed` before, and is `subscribed`. */
  confirmed: 2,
  /** Data: `fields`, their tags; `EMAIL` is the address. */
  changed: 3,
  /** Data: `tags`. */
  tagged: 4,
  untagged: 5,
  /** To another list. */
  moved: 6,
  unsubscribed: 7,
  removed: 8,
  /** A mail to the person came back. Data: `type` is `hard`, `soft` or `blocked`; the person of each message, not everybody with the address. */
  bounced: 9,
  /** Called a mail unwanted, and is unsubscribed. Data: `type`, such as `abuse`. */
  complained: 10,
  /** From outside (`POST /events`). Its name stands beside, its data is the payload. */
  event: 11,
  /** Had unsubscribed, and is `subscribed` again. */
  resubscribed: 12,
} as const;
export type PersonEventKind = keyof typeof PERSON_EVENT_KINDS;

const KIND_BY_NUMBER: ReadonlyMap<number, string> = new Map(
  Object.entries(PERSON_EVENT_KINDS).map(([kind, number]) => [number, kind]),
);

/** The kind with this number. */
export function personEventKind(number: number): PersonEventKind {
  const kind = KIND_BY_NUMBER.get(number);
  if (kind === undefined || !isKind(kind)) throw new Error(`No kind of person events has the number ${number}.`);
  return kind;
}

function isKind(name: string): name is PersonEventKind {
  return Object.hasOwn(PERSON_EVENT_KINDS, name);
}

export type PersonEventData = Readonly<Record<string, unknown>>;

export interface PersonEvent {
  readonly id: bigint;
  readonly personId: bigint;
  /** When it happened; of an event from outside, what its sender said. */
  readonly at: Date;
  readonly recordedAt: Date;
  readonly kind: PersonEventKind;
  /** Flows that started one another before (D83). */
  readonly depth: number;
  /** False: of an import that was not asked to (D72). */
  readonly startsFlows: boolean;
  /** Of an event from outside. */
  readonly name: string | null;
  readonly data: PersonEventData | null;
}

/** Notified when a transaction has written some. */
export const PERSON_EVENTS_CHANNEL = 'person_events';
