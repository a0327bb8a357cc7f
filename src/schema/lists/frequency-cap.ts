/** Frequency caps, as they are given and shown: of lists, and of the caller's customer. */
import {
  customerFrequencyCapInput,
  frequencyCapOfCustomer,
  setFrequencyCap,
  type CustomerFrequencyCap,
} from '../../domain/audience/customer-frequency-cap.ts';
import { frequencyCap, type FrequencyCap } from '../../domain/audience/frequency-cap.ts';
import { builder } from '../builder.ts';

const MESSAGES = 'So many messages a person gets at most.';
const DAYS = 'Within so many days: of 24 hours each, before the message.';
const HOLD_DAYS =
  'A message that the cap holds back waits for at most so many days. If it would have to wait for longer, it is not sent.';

export const FrequencyCapInput = builder.inputType('FrequencyCapInput', {
  checks: frequencyCap.shape,
  fields: (t) => ({
    messages: t.int({ required: true, description: MESSAGES }),
    days: t.int({ required: true, description: DAYS }),
    holdDays: t.int({ description: `${HOLD_DAYS} 3 by default.` }),
  }),
});

export const FrequencyCapType = builder.objectRef<FrequencyCap>('FrequencyCap').implement({
  description: 'The most messages to one person: campaigns and mails of automations together.',
  authScopes: { authenticated: true },
  fields: (t) => ({
    messages: t.exposeInt('messages', { description: MESSAGES }),
    days: t.exposeInt('days', { description: DAYS }),
    holdDays: t.exposeInt('holdDays', { description: HOLD_DAYS }),
  }),
});

const CustomerFrequencyCapType = builder.objectRef<CustomerFrequencyCap>('CustomerFrequencyCap').implement({
  description: 'The frequency cap over all lists of a customer.',
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    frequencyCap: t.field({
      type: FrequencyCapType,
      nullable: true,
      description: 'Null: there is no limit.',
      resolve: ({ frequencyCap: cap }) => cap,
    }),
  }),
});

builder.queryField('frequencyCap', (t) =>
  t.field({
    type: CustomerFrequencyCapType,
    description: 'The most messages that a person gets from all lists of the caller’s customer together.',
    authScopes: { scope: 'lists:read' },
    resolve: (_root, _args, ctx) => frequencyCapOfCustomer(ctx),
  }),
);

builder.mutationField('setFrequencyCap', (t) =>
  t.fieldWithInput({
    type: CustomerFrequencyCapType,
    description: 'Sets the most messages that a person gets from all lists of the caller’s customer together.',
    authScopes: { scope: 'lists:write' },
    typeOptions: { checks: customerFrequencyCapInput.shape },
    input: { frequencyCap: t.input.field({ type: FrequencyCapInput, description: 'Null: there is no limit.' }) },
    resolve: (_root, { input }, ctx) => setFrequencyCap(ctx, input),
  }),
);
