/** The subscription that a vendor keeps for one of a customer. */
import { refreshSubscription } from '../../domain/billing/remote/sync-remotes.ts';
import { startRemoteSubscription } from '../../domain/billing/remote/start-remote.ts';
import { builder } from '../builder.ts';
import { PaymentIntent, readingMoney } from '../invoices/invoice.ts';
import { Plan } from '../plans/plan.ts';
import { PlanSubscription } from './plan-subscription.ts';

const RemoteSubscription = builder.prismaObject('RemoteSubscription', {
  description: 'A subscription that the vendor of a payment gateway keeps: the vendor takes the money for each period.',
  authScopes: readingMoney,
  fields: (t) => ({
    remoteId: t.exposeString('remoteId', { description: "The vendor's id." }),
    gatewayName: t.string({ select: { gateway: { select: { name: true } } }, resolve: ({ gateway }) => gateway.name }),
    status: t.exposeString('status', { description: "The vendor's own word." }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether the vendor calls it active.' }),
    isEnded: t.exposeBoolean('isEnded', { description: 'It takes no money any more.' }),
    periodEndsAt: t.expose('periodEndsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The end of its present period at the vendor.',
    }),
    paidUntil: t.expose('paidUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'The end of the last period that was paid and counted here.',
    }),
    methodTitle: t.exposeString('methodTitle', { description: 'How it is paid, such as `Visa`; empty: not known.' }),
    methodInfo: t.exposeString('methodInfo', { description: 'More about that, such as `ends in 4242`.' }),
    wantedPlan: t.prismaField({
      type: Plan,
      nullable: true,
      description: 'The plan to which the vendor changes with the next period; null: none.',
      select: { wantedPlanId: true },
      resolve: (query, { wantedPlanId }, _args, ctx) =>
        wantedPlanId === null ? null : ctx.prisma.plan.findUnique({ ...query, where: { id: wantedPlanId } }),
    }),
    error: t.exposeString('error', {
      nullable: true,
      authScopes: { admin: true },
      description: 'For administrators: what the vendor refused, or what does not fit; null: nothing.',
    }),
    syncedAt: t.expose('syncedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was read at the vendor.',
    }),
  }),
});

builder.prismaObjectField(PlanSubscription, 'remoteSubscription', (t) =>
  t.field({
    type: RemoteSubscription,
    nullable: true,
    authScopes: readingMoney,
    description: 'The one that a vendor keeps for it, the newest if there were several; null: invoices are paid here.',
    select: (_args, _ctx, nested) => ({ remotes: nested({ orderBy: [{ isEnded: 'asc' }, { id: 'desc' }], take: 1 }) }),
    resolve: ({ remotes }) => remotes[0] ?? null,
  }),
);

builder.mutationField('startRemoteSubscription', (t) =>
  t.prismaFieldWithInput({
    type: PaymentIntent,
    description:
      'Begins a subscription at the vendor with the payment method that the customer has saved there, without a browser: the vendor takes the money of the invoice and of every later period. The plan must be linked with a plan of the vendor.',
    authScopes: { scope: 'billing:write' },
    input: {
      invoiceUid: t.input.string({ required: true }),
      gatewayUid: t.input.string({ required: true, description: 'One of the invoice’s `paymentGateways`.' }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await startRemoteSubscription(ctx, input);
      return ctx.prisma.paymentIntent.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('refreshSubscription', (t) =>
  t.prismaField({
    type: PlanSubscription,
    description: 'Reads at the vendor what became of the subscription that it keeps. The same happens by itself.',
    authScopes: { scope: 'billing:write' },
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await refreshSubscription(ctx, { uid });
      return ctx.prisma.subscription.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);
