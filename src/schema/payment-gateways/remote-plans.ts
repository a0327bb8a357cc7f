/** Plans of vendors, linked with ours, and subscriptions that vendors keep: administrators only. */
import {
  linkRemotePlan,
  remotePlanInput,
  remotePlans,
  unlinkRemotePlan,
  type ListedRemotePlan,
  type PlanAtGateway,
} from '../../domain/billing/remote/link-remote-plan.ts';
import { UNKNOWN_MAX } from '../../domain/billing/remote/remote-walk-store.ts';
import { builder } from '../builder.ts';
import { FrequencyUnit } from '../enums.ts';
import { Money } from '../plans/money.ts';
import { Plan } from '../plans/plan.ts';
import { forAdministrators, PaymentGateway } from './payment-gateway.ts';

const RemotePlan = builder.objectRef<ListedRemotePlan>('RemotePlan').implement({
  description: 'A plan that the vendor of a payment gateway has.',
  authScopes: forAdministrators,
  fields: (t) => ({
    id: t.exposeString('id', { description: "The vendor's id." }),
    name: t.exposeString('name'),
    price: t.field({
      type: Money,
      description: 'Of one period.',
      resolve: ({ amountMinor, currencyCode }) => ({ minor: amountMinor, currencyCode }),
    }),
    frequencyAmount: t.exposeInt('frequencyAmount', { description: 'The length of a period, in `frequencyUnit`s.' }),
    frequencyUnit: t.expose('frequencyUnit', { type: FrequencyUnit, description: '`day`, `week`, `month` or `year`.' }),
    plan: t.prismaField({
      type: Plan,
      nullable: true,
      description: 'The plan that it is linked with; null: none.',
      resolve: (query, { linkedPlanId }, _args, ctx) =>
        linkedPlanId === null ? null : ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id: linkedPlanId } }),
    }),
  }),
});

builder.queryField('remotePlans', (t) =>
  t.field({
    type: [RemotePlan],
    description: 'The plans that the vendor of a payment gateway has now. The vendor is asked while one waits.',
    authScopes: forAdministrators,
    args: { gatewayUid: t.arg.string({ required: true }) },
    resolve: async (_root, { gatewayUid }, ctx) => [...(await remotePlans(ctx, { gatewayUid }))],
  }),
);

const RemotePlanLink = builder.prismaObject('RemotePlanLink', {
  description:
    'A plan that is linked with a plan of a vendor: customers who pay it there begin a subscription that the vendor keeps.',
  authScopes: forAdministrators,
  fields: (t) => ({
    plan: t.relation('plan', { type: Plan }),
    remotePlanId: t.exposeString('remotePlanId', { description: "The vendor's id." }),
    remoteName: t.exposeString('remoteName', { description: "The vendor's name when it was linked." }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

builder.mutationField('linkRemotePlan', (t) =>
  t.prismaFieldWithInput({
    type: RemotePlanLink,
    description:
      'Links a plan with a plan of the vendor; another link of the plan at this gateway is replaced. Refused when price, currency or period differ, which the error names. The vendor is asked while one waits.',
    authScopes: forAdministrators,
    typeOptions: { checks: remotePlanInput.shape },
    input: {
      gatewayUid: t.input.string({ required: true }),
      planUid: t.input.string({ required: true }),
      remotePlanId: t.input.string({ required: true, description: 'The id of one of `remotePlans`.' }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { planId, gatewayId } = await linkRemotePlan(ctx, input);
      return ctx.prisma.remotePlanLink.findUniqueOrThrow({
        ...query,
        where: { planId_gatewayId: { planId, gatewayId } },
      });
    },
  }),
);

const UnlinkedRemotePlan = builder.objectRef<PlanAtGateway>('UnlinkedRemotePlan').implement({
  authScopes: forAdministrators,
  fields: (t) => ({ gatewayUid: t.exposeString('gatewayUid'), planUid: t.exposeString('planUid') }),
});

builder.mutationField('unlinkRemotePlan', (t) =>
  t.fieldWithInput({
    type: UnlinkedRemotePlan,
    description:
      'Nobody begins a subscription for the plan at this vendor any more. Those that the vendor keeps go on.',
    authScopes: forAdministrators,
    input: { gatewayUid: t.input.string({ required: true }), planUid: t.input.string({ required: true }) },
    resolve: (_root, { input }, ctx) => unlinkRemotePlan(ctx, input),
  }),
);

const UnknownRemoteSubscription = builder.prismaObject('UnknownRemoteSubscription', {
  description: 'A subscription at a vendor that belongs to nothing here. Nothing is done about it.',
  authScopes: forAdministrators,
  fields: (t) => ({
    remoteId: t.exposeString('remoteId', { description: "The vendor's id." }),
    intentUid: t.exposeString('intentUid', {
      nullable: true,
      description:
        'The payment that it names; null: none. One that names a payment may be of a customer who was deleted, or of another installation.',
    }),
    status: t.exposeString('status', { description: "The vendor's own word." }),
    firstSeenAt: t.expose('firstSeenAt', { type: 'DateTime' }),
    seenAt: t.expose('seenAt', { type: 'DateTime' }),
  }),
});

builder.prismaObjectFields(PaymentGateway, (t) => ({
  remotePlanLinks: t.relation('remotePlanLinks', {
    type: RemotePlanLink,
    description: 'The plans that are linked with plans of its vendor.',
    query: { orderBy: { planId: 'asc' } },
  }),
  unknownSubscriptions: t.relation('unknownSubscriptions', {
    type: UnknownRemoteSubscription,
    description: `Subscriptions at its vendor that belong to nothing here, at most ${UNKNOWN_MAX.toLocaleString('en')}.`,
    query: { orderBy: { remoteId: 'asc' } },
  }),
  subscriptionsFault: t.exposeString('walkError', {
    nullable: true,
    description: "Why the vendor's list of subscriptions could not be read; null: it was read, or is not read.",
  }),
}));
