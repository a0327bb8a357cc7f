/** A customer's subscription to a plan in GraphQL; `Subscription` itself is GraphQL's own word. */
import { checkoutUrl } from '../../domain/billing/invoices/checkout-link.ts';
import type { PlanChange } from '../../domain/billing/subscriptions/create-subscription.ts';
import { builder } from '../builder.ts';
import { FrequencyUnit, SubscriptionHistoryEvent, SubscriptionStatus } from '../enums.ts';
import { Invoice, readingMoney } from '../invoices/invoice.ts';
import { Money } from '../plans/money.ts';
import { Plan } from '../plans/plan.ts';

const SubscriptionEvent = builder.prismaObject('SubscriptionEvent', {
  name: 'SubscriptionHistoryEntry',
  authScopes: readingMoney,
  description: "A row of a subscription's renewal history.",
  fields: (t) => ({
    event: t.expose('event', {
      type: SubscriptionHistoryEvent,
      description:
        '`created`, `started`, `renewal_due`, `renewed`, `change_requested`, `change_withdrawn`, `plan_changed`, `payment_claimed`, `payment_rejected`, `payment_failed`, `payment_credited`, `payment_refunded`, `updated`, `cancelled`, `resumed`, `terminated`, `ended`.',
    }),
    at: t.expose('at', { type: 'DateTime' }),
    planUid: t.exposeString('planUid'),
    amount: t.field({
      type: Money,
      nullable: true,
      select: { amountMinor: true, currencyCode: true },
      resolve: ({ amountMinor, currencyCode }) =>
        amountMinor === null || currencyCode === null ? null : { minor: amountMinor, currencyCode },
    }),
    invoiceUid: t.exposeString('invoiceUid', { nullable: true }),
    note: t.exposeString('note', { nullable: true }),
  }),
});

export const PlanSubscription = builder.prismaObject('Subscription', {
  name: 'PlanSubscription',
  authScopes: readingMoney,
  description: "A customer's use of a plan.",
  fields: (t) => ({
    id: t.expose('id', { type: 'BigInt' }),
    uid: t.exposeString('uid'),
    customerId: t.expose('customerId', { type: 'BigInt' }),
    customerUid: t.string({
      select: { customer: { select: { uid: true } } },
      resolve: ({ customer }) => customer.uid,
    }),
    customerName: t.string({
      select: { customer: { select: { name: true } } },
      resolve: ({ customer }) => customer.name,
    }),
    planId: t.expose('planId', { type: 'BigInt' }),
    plan: t.relation('plan', { type: Plan }),
    status: t.expose('status', {
      type: SubscriptionStatus,
      description: "`pending` waits for payment, `active`, `cancelled` runs to its period's end, `ended`.",
    }),
    options: t.expose('options', {
      type: 'JsonObject',
      description: 'Options of the subscription, which override those of the plan.',
    }),
    disableBilling: t.exposeBoolean('disableBilling', { description: 'The subscription costs nothing.' }),
    frequencyAmount: t.exposeInt('frequencyAmount', {
      nullable: true,
      description: 'Period of the subscription; null: that of the plan.',
    }),
    frequencyUnit: t.expose('frequencyUnit', {
      type: FrequencyUnit,
      nullable: true,
      description: 'Period of the subscription; null: that of the plan.',
    }),
    currentPeriodStartedAt: t.expose('currentPeriodStartedAt', { type: 'DateTime', nullable: true }),
    currentPeriodEndsAt: t.expose('currentPeriodEndsAt', { type: 'DateTime', nullable: true }),
    graceEndsAt: t.expose('graceEndsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the renewal may be paid; null when none is due.',
    }),
    endsAt: t.expose('endsAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    pendingInvoice: t.field({
      type: Invoice,
      nullable: true,
      description: 'What waits for payment.',
      select: (_args, _ctx, nested) => ({ invoices: nested({ where: { status: 'pending' }, take: 1 }) }),
      resolve: ({ invoices }) => invoices[0] ?? null,
    }),
    history: t.relatedConnection(
      'history',
      {
        type: SubscriptionEvent,
        cursor: 'customerId_subscriptionId_id',
        totalCount: true,
        description: 'The renewal history, the newest first.',
        query: { orderBy: { id: 'desc' } },
      },
      { name: 'SubscriptionHistoryConnection' },
      { name: 'SubscriptionHistoryEdge' },
    ),
  }),
});

export const SubscriptionChange = builder.objectRef<PlanChange>('SubscriptionChange').implement({
  description: 'The subscription after an assignment or change of its plan.',
  authScopes: readingMoney,
  fields: (t) => ({
    subscription: t.prismaField({
      type: PlanSubscription,
      resolve: (query, { subscription: { customerId, id } }, _args, ctx) =>
        ctx.prisma.subscription.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } }),
    }),
    invoice: t.prismaField({
      type: Invoice,
      nullable: true,
      description: 'The invoice that must be paid first; null: nothing has to be paid, it holds already.',
      resolve: (query, { due }, _args, ctx) =>
        due &&
        ctx.prisma.invoice.findUniqueOrThrow({
          ...query,
          where: { customerId_id: { customerId: due.customerId, id: due.id } },
        }),
    }),
    checkoutUrl: t.string({
      nullable: true,
      description: 'The page that shows how to pay, as `Invoice.checkoutUrl`; null when nothing is due.',
      resolve: ({ due }, _args, ctx) => due && checkoutUrl(ctx.installation, due.uid, ctx.clock.now()),
    }),
  }),
});
