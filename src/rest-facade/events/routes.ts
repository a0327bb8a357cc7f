/** Events from outside: an extension of the specification. One at a time, or many with an answer for each. */
import { z } from 'zod';
import { fieldLabel } from '../../lib/text.ts';
import { created } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { RestError, invalid } from '../errors.ts';
import { IGNORED_NAMES_MAX } from '../ignored-parameters.ts';
import type { Input } from '../input.ts';
import { actionShape, answersCreated, countShape } from '../shapes.ts';

const rowShape = z
  .strictObject({ recorded: z.boolean(), code: z.string().nullable(), message: z.string().nullable() })
  .meta({ id: 'RecordedEvent' });

export const eventRows = [
  endpoint({
    method: 'POST',
    path: '/events',
    access: 'token',
    summary: 'Records what people did elsewhere, such as an order: automations begin, wait and end by it.',
    details:
      'One event, or `events`: a list of at most 1,000 of the same form (or its JSON text), answered row by row. The person is `subscriber_uid`, `subscriber` ' +
      '(uid, id or address) or `email`, with `list_uid` for an address on several lists. `occurred_at` is now if absent; what happened more ' +
      'than 24 hours ago starts no automation. Needs the scope `events:write`.',
    answers: answersCreated(actionShape({ recorded: countShape, events: z.array(rowShape) })),
    operation: 'RecordEvents',
    variables: (input) => ({ input: { events: eventsOf(input) } }),
    present({ recordEvents: { answers } }, _view, input) {
      const [only] = answers;
      const many = input.raw('events') ?? '';
      if (many === '' && only?.code) throw refusalOf(input.text('subscriber'), only.code, only.message ?? '');
      const rows = many === '' ? undefined : listIn(many);
      const recorded = answers.filter(({ isRecorded }) => isRecorded).length;
      const events = answers.map(({ isRecorded, code, message }, no) => ({
        recorded: isRecorded,
        ...{ code, message: message && ((rows && formFault(rows[no])) ?? inRestNames(message)) },
      }));
      const all = recorded === answers.length ? 'The events' : `${recorded} of ${answers.length} events`;
      return created(`${all} are recorded`, { recorded, events });
    },
  }),
];

function eventsOf(input: Input) {
  const one = {
    name: input.text('name'),
    subscriber: input.text('subscriber', 'subscriber_uid', 'email'),
    listUid: input.text('list_uid'),
    key: input.text('key'),
    payload: input.plainObject('payload'),
    occurredAt: input.time('occurred_at'),
  };
  const many = input.raw('events') ?? '';
  if (many === '') {
    if (!one.name) input.refuse('name', 'The name field is required.');
    if (!one.subscriber) input.refuse('subscriber_uid', 'Name the person: subscriber_uid, subscriber or email.');
    return [{ ...one, name: one.name ?? '', subscriber: one.subscriber ?? '' }];
  }
  if (Object.values(one).some((value) => value !== undefined))
    input.refuse('events', 'Give one event, or the list `events`, not both.');
  const list = listIn(many);
  if (list) {
    input.ignore(...unknownNames(list));
    return list.map((item) => (formFault(item) === undefined ? eventOf(item) : NO_EVENT));
  }
  input.refuse('events', 'The events must be a list of objects.');
  return [];
}

/** A list, or its JSON text: forms have only texts. */
function listIn(given: unknown): readonly unknown[] | undefined {
  if (typeof given !== 'string') return Array.isArray(given) ? given : undefined;
  try {
    const parsed: unknown = JSON.parse(given);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const INTEGER = /^\d+$/;

/** Of the only event: what was not found, or the parameter that is wrong. */
function refusalOf(subscriber: string | null | undefined, code: string, message: string): RestError {
  // An integer id that is not one of the caller's own is a 403, whether it exists or not (decision D95).
  if (code.endsWith('NOT_FOUND')) return new RestError(INTEGER.test(subscriber ?? '') ? 403 : 404, { message });
  if (code === 'LIST_REQUIRED') return invalid({ list_uid: [message] });
  const [name = '', ...sentence] = message.split(': ');
  return invalid({ [NAMES[name] ?? name]: [sentence.join(': ')] });
}

const NAMES: Readonly<Record<string, string>> = {
  listUid: 'list_uid',
  occurredAt: 'occurred_at',
  subscriber: 'subscriber_uid',
};

/** The sentence of a row begins with the name of the parameter. */
function inRestNames(message: string): string {
  return message.replace(/^(\w+)(?=: )/, (name) => NAMES[name] ?? name);
}

type Item = Readonly<Record<string, unknown>>;

/** Sent for a row of the wrong form, so that it is answered in its place: it is never recorded. */
const NO_EVENT = { name: '', subscriber: '' };

const TEXTS = ['name', 'subscriber_uid', 'subscriber', 'email', 'list_uid', 'key', 'occurred_at'] as const;
const ROW_NAMES: ReadonlySet<string> = new Set([...TEXTS, 'payload']);

/** What would be lost if the row were recorded without it. */
function formFault(item: unknown): string | undefined {
  if (!isObject(item)) return 'The event must be an object.';
  const wrong = TEXTS.find(
    (name) => item[name] !== undefined && item[name] !== null && textAt(item, name) === undefined,
  );
  if (wrong !== undefined) return `${wrong}: The ${fieldLabel(wrong)} must be a text.`;
  const payload = item['payload'] ?? null;
  return payload === null || isObject(payload) ? undefined : 'payload: The payload must be an object.';
}

/** As those of other requests: `events.2.data`. The first of them: a JSON text may have hundreds of thousands, and halves of characters. */
function unknownNames(list: readonly unknown[]): readonly string[] {
  const unknown: string[] = [];
  for (const [no, item] of list.entries()) {
    const names = Object.keys(isObject(item) ? item : {}).filter((name) => !ROW_NAMES.has(name));
    for (const name of names.slice(0, IGNORED_NAMES_MAX)) unknown.push(`events.${no}.${name.toWellFormed()}`);
    if (unknown.length >= IGNORED_NAMES_MAX) break;
  }
  return unknown;
}

/** What is missing or wrong is answered for its row. */
function eventOf(given: unknown) {
  const item: Item = isObject(given) ? given : {};
  const text = (...names: readonly string[]) =>
    names.map((name) => textAt(item, name)).find((one) => one !== undefined);
  const payload = item['payload'];
  return {
    name: text('name') ?? '',
    subscriber: text('subscriber_uid', 'subscriber', 'email') ?? '',
    listUid: text('list_uid'),
    key: text('key'),
    payload: isObject(payload) ? { ...payload } : undefined,
    occurredAt: text('occurred_at')?.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/, '$1T$2Z'),
  };
}

function textAt(item: Item, name: string): string | undefined {
  const value = item[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
