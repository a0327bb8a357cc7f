/** Changing subscriptions. */
import { changePlan } from '../../domain/billing/subscriptions/change-plan.ts';
import {
  activateSubscription,
  cancelSubscription,
  resumeSubscription,
  terminateSubscription,
} from '../../domain/billing/subscriptions/control-subscription.ts';
import { assignPlan, createSubscription } from '../../domain/billing/subscriptions/create-subscription.ts';
import {
  frequencyInput,
  updateCustomerSubscription,
  updateSubscription,
} from '../../domain/billing/subscriptions/update-subscription.ts';
import type { Context } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { FrequencyUnit } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';
import { PlanSubscription, SubscriptionChange } from './plan-subscription.ts';

const administrators = { admin: true } as const;
const owners = { scope: 'billing:write' } as const;
const KEEP_OVERRIDES =
  'Keeps the own end and options of the present subscription; by default they end with it. The renewal history says which.';

builder.mutationField('createSubscription', (t) =>
  t.fieldWithInput({
    type: SubscriptionChange,
    description:
      'Gives a customer a subscription. With a plan that costs something it waits for its first invoice to be paid, and what ran before goes on.',
    authScopes: administrators,
    input: {
      customerUid: t.input.string({ required: true }),
      planUid: t.input.string({ required: true }),
      disableBilling: t.input.boolean({ description: 'The subscription starts at once and costs nothing.' }),
    },
    resolve: (_root, { input }, ctx) =>
      createSubscription(ctx, { ...input, disableBilling: input.disableBilling ?? false }),
  }),
);

builder.mutationField('assignPlan', (t) =>
  t.prismaFieldWithInput({
    type: PlanSubscription,
    description:
      'Gives a customer a plan without billing: the previous subscription ends, and the new one starts at once.',
    authScopes: administrators,
    input: {
      customerUid: t.input.string({ required: true }),
      planUid: t.input.string({ required: true }),
      keepOverrides: t.input.boolean({ description: KEEP_OVERRIDES }),
    },
    resolve: async (query, _root, { input }, ctx) => find(query, await assignPlan(ctx, input), ctx),
  }),
);

builder.mutationField('changePlan', (t) =>
  t.fieldWithInput({
    type: SubscriptionChange,
    description:
      'Moves a customer to another plan. What is left of the period already paid for comes off the price; the plan changes when the invoice is paid, at once when nothing is due.',
    authScopes: owners,
    input: {
      planUid: t.input.string({ required: true }),
      customerUid: t.input.string({ description: 'For administrators; otherwise the own one.' }),
      keepOverrides: t.input.boolean({ description: `For administrators. ${KEEP_OVERRIDES}` }),
    },
    resolve: (_root, { input }, ctx) => changePlan(ctx, input),
  }),
);

builder.mutationField('updateSubscription', (t) =>
  t.prismaFieldWithInput({
    type: PlanSubscription,
    description: "Sets a subscription's end, its period, or options of its own. null clears.",
    authScopes: administrators,
    typeOptions: { checks: frequencyInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      endsAt: t.input.field({ type: 'DateTime' }),
      currentPeriodEndsAt: t.input.field({ type: 'DateTime' }),
      frequencyAmount: t.input.int({ description: "null: back to the plan's." }),
      frequencyUnit: t.input.field({ type: FrequencyUnit }),
      options: t.input.field({
        type: 'JsonObject',
        description: 'Options by name; null: the plan’s value counts again.',
      }),
    },
    resolve: async (query, _root, { input }, ctx) => find(query, await updateSubscription(ctx, input), ctx),
  }),
);

builder.mutationField('updateCustomerSubscription', (t) =>
  t.prismaFieldWithInput({
    type: PlanSubscription,
    description: 'The same for the subscription that a customer has now.',
    authScopes: administrators,
    typeOptions: { checks: frequencyInput.shape },
    input: {
      customerUid: t.input.string({ required: true }),
      endsAt: t.input.field({ type: 'DateTime' }),
      currentPeriodEndsAt: t.input.field({ type: 'DateTime' }),
      frequencyAmount: t.input.int(),
      frequencyUnit: t.input.field({ type: FrequencyUnit }),
      options: t.input.field({ type: 'JsonObject' }),
    },
    resolve: async (query, _root, { input }, ctx) => find(query, await updateCustomerSubscription(ctx, input), ctx),
  }),
);

const ACTS = {
  activateSubscription: {
    verb: activateSubscription,
    authScopes: administrators,
    description:
      'Activates a subscription without payment: a waiting one starts, a due one is renewed, a cancelled one continues.',
  },
  resumeSubscription: {
    verb: resumeSubscription,
    authScopes: owners,
    description: 'Continues a cancelled subscription: it renews again.',
  },
  cancelSubscription: {
    verb: cancelSubscription,
    authScopes: owners,
    description: 'Cancels the subscription: it runs to the end of its period. One that waits for payment ends at once.',
  },
  terminateSubscription: { verb: terminateSubscription, authScopes: administrators, description: 'Ends it at once.' },
} as const;

for (const [name, { verb, authScopes, description }] of Object.entries(ACTS)) {
  builder.mutationField(name, (t) =>
    t.prismaField({
      type: PlanSubscription,
      description,
      authScopes,
      args: { uid: t.arg.string({ required: true }) },
      resolve: async (query, _root, { uid }, ctx) => find(query, await verb(ctx satisfies Context, { uid }), ctx),
    }),
  );
}

type Query = Parameters<GraphqlContext['prisma']['subscription']['findUniqueOrThrow']>[0];

function find(
  query: Omit<Query, 'where'>,
  { customerId, id }: { customerId: bigint; id: bigint },
  ctx: GraphqlContext,
) {
  return ctx.prisma.subscription.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
}
