/** Events from outside. */
import {
  batchInput,
  outsideEventInput,
  recordOutsideEvents,
  type EventAnswer,
  type EventFault,
} from '../../domain/automations/events/record-outside-events.ts';
import { builder } from '../builder.ts';

const SCOPE = { scope: 'events:write' } as const;

const OutsideEventInput = builder.inputType('OutsideEventInput', {
  checks: outsideEventInput.shape,
  fields: (t) => ({
    name: t.string({ required: true, description: 'Such as `order_placed`: small letters, digits, `_` and `.`.' }),
    subscriber: t.string({ required: true, description: 'Uid, id or address of the person.' }),
    listUid: t.string({ description: 'Needed for an address that is on several lists.' }),
    key: t.string({ description: 'What it is about, such as the id of a cart: `key` of the payload.' }),
    payload: t.field({ type: 'JsonObject', description: 'At most 64 KiB. Conditions read it.' }),
    occurredAt: t.string({
      description:
        'ISO 8601 with a zone; now if absent. What happened more than 24 hours ago is recorded and starts no automation.',
    }),
  }),
});

const EventFault = builder.enumType('EventFault', {
  description: 'Why an event was not recorded.',
  values: {
    EVENT_INVALID: { description: 'A value is wrong; the message names it.' },
    LIST_NOT_FOUND: { description: 'You have no list with this uid.' },
    SUBSCRIBER_NOT_FOUND: { description: 'You have no such person, or not on this list.' },
    LIST_REQUIRED: { description: 'The address is on several lists.' },
  } satisfies Record<EventFault, object>,
});

const RecordedEvent = builder.objectRef<EventAnswer>('RecordedEvent').implement({
  authScopes: SCOPE,
  fields: (t) => ({
    isRecorded: t.boolean({ resolve: ({ code }) => code === null }),
    code: t.field({ type: EventFault, nullable: true, resolve: ({ code }) => code }),
    message: t.exposeString('message', { nullable: true }),
  }),
});

const RecordedEvents = builder.objectRef<{ readonly answers: readonly EventAnswer[] }>('RecordedEvents').implement({
  authScopes: SCOPE,
  fields: (t) => ({
    answers: t.field({
      type: [RecordedEvent],
      description: 'For each event, in their order.',
      resolve: ({ answers }) => [...answers],
    }),
  }),
});

builder.mutationField('recordEvents', (t) =>
  t.fieldWithInput({
    type: RecordedEvents,
    description:
      'Records what people did elsewhere, at most 1,000 events at once. Automations begin, wait and end by it. The events of a plugin are its own: the plugin’s name stands before theirs, as in `vendor/plugin:order_paid`.',
    authScopes: SCOPE,
    typeOptions: { checks: batchInput.shape },
    input: { events: t.input.field({ type: [OutsideEventInput], required: true }) },
    resolve: async (_root, { input }, ctx) => ({ answers: await recordOutsideEvents(ctx, input) }),
  }),
);
