/** Invoices and payments in GraphQL. */
import { checkoutUrl } from '../../domain/billing/invoices/checkout-link.ts';
import { builder } from '../builder.ts';
import { InvoiceKind, InvoiceLineKind, InvoiceStatus, PaymentStatus } from '../enums.ts';
import { Money } from '../plans/money.ts';
import { Plan } from '../plans/plan.ts';

/** One's own; administrators need it too, to read those of others. */
export const readingMoney = { scope: 'billing:read' } as const;

const InvoiceLine = builder.prismaObject('InvoiceLine', {
  authScopes: readingMoney,
  fields: (t) => ({
    kind: t.expose('kind', { type: InvoiceLineKind, description: '`plan`, `unused`, `credit_used` or `credit_kept`.' }),
    description: t.exposeString('description'),
    amount: t.field({
      type: Money,
      description: 'Negative when it is given back.',
      select: { amountMinor: true, invoice: { select: { currencyCode: true } } },
      resolve: ({ amountMinor, invoice }) => ({ minor: amountMinor, currencyCode: invoice.currencyCode }),
    }),
  }),
});

export const Invoice = builder.prismaObject('Invoice', {
  authScopes: readingMoney,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    kind: t.expose('kind', {
      type: InvoiceKind,
      description: '`start` begins a subscription, `renewal` pays its next period, `change` moves it to another plan.',
    }),
    status: t.expose('status', { type: InvoiceStatus, description: '`pending`, `paid` or `void`.' }),
    total: t.field({
      type: Money,
      description: 'The sum of its lines; never negative.',
      select: { totalMinor: true, currencyCode: true },
      resolve: ({ totalMinor, currencyCode }) => ({ minor: totalMinor, currencyCode }),
    }),
    customerUid: t.string({
      select: { customer: { select: { uid: true } } },
      resolve: ({ customer }) => customer.uid,
    }),
    subscriptionUid: t.string({
      select: { subscription: { select: { uid: true } } },
      resolve: ({ subscription }) => subscription.uid,
    }),
    plan: t.relation('plan', { type: Plan, description: 'The plan it is for.' }),
    lines: t.relation('lines', { type: InvoiceLine, query: { orderBy: { no: 'asc' } } }),
    payments: t.relation('payments', {
      description: 'Its payments, the oldest first.',
      query: { orderBy: { id: 'asc' } },
    }),
    checkoutUrl: t.string({
      nullable: true,
      description:
        'A page that shows the invoice and how to pay it, for a browser, without logging in; its signed address expires after 14 days, and each answer has a fresh one. Null when there is nothing to pay.',
      select: { uid: true, status: true },
      resolve: ({ uid, status }, _args, ctx) =>
        status === 'pending' ? checkoutUrl(ctx.installation, uid, ctx.clock.now()) : null,
    }),
    paymentInstructions: t.string({
      nullable: true,
      description: "How to pay it by transfer, in the operator's words; null when there is nothing to pay.",
      select: { status: true },
      resolve: ({ status }, _args, ctx) => (status === 'pending' ? (ctx.installation.paymentInstructions ?? '') : null),
    }),
    periodStartsAt: t.expose('periodStartsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Of the period it pays for; null: it begins with the payment.',
    }),
    dueAt: t.expose('dueAt', { type: 'DateTime', nullable: true }),
    nextChargeAt: t.expose('nextChargeAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When a saved payment method is charged again after it was declined; null: it is not tried again. Each try is one of `payments`.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    paidAt: t.expose('paidAt', { type: 'DateTime', nullable: true }),
    voidedAt: t.expose('voidedAt', { type: 'DateTime', nullable: true }),
  }),
});

export const PaymentIntent = builder.prismaObject('PaymentIntent', {
  authScopes: readingMoney,
  description: 'A payment of an invoice, or a claim of one.',
  fields: (t) => ({
    uid: t.exposeString('uid'),
    method: t.exposeString('method', {
      description: 'Type of its gateway. `offline`: by transfer, looked at by an administrator.',
    }),
    status: t.expose('status', {
      type: PaymentStatus,
      description:
        '`PENDING`, `REQUIRES_ACTION`, `AWAITING_ADMIN_APPROVAL`, `SUCCEEDED`, `FAILED` or `CANCELLED`; the last three are final.',
    }),
    amount: t.field({
      type: Money,
      select: { amountMinor: true, currencyCode: true },
      resolve: ({ amountMinor, currencyCode }) => ({ minor: amountMinor, currencyCode }),
    }),
    note: t.exposeString('note', { description: 'The customer’s note.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason that the administrator or the vendor gave.',
    }),
    reference: t.exposeString('reference', {
      nullable: true,
      description: 'The vendor’s id of it; null: nothing was begun there.',
    }),
    refunded: t.field({
      type: Money,
      description: 'What was paid back at the vendor.',
      select: { refundedMinor: true, currencyCode: true },
      resolve: ({ refundedMinor, currencyCode }) => ({ minor: refundedMinor, currencyCode }),
    }),
    isAutomatic: t.boolean({
      description: 'A saved payment method is charged for it, without the customer.',
      select: { methodId: true },
      resolve: ({ methodId }) => methodId !== null,
    }),
    chargedAt: t.expose('chargedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when its saved method may have been charged, or its bank debit is under way.',
    }),
    latePaidAt: t.expose('latePaidAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'It was paid at the vendor after it had failed or was cancelled here. The money paid the invoice if that was still open, else it became credit.',
    }),
    syncedAt: t.expose('syncedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the vendor was asked the last time.',
    }),
    syncError: t.exposeString('syncError', {
      nullable: true,
      description: 'Why the vendor’s state could not be read, or does not fit to the payment; null: it was read.',
    }),
    invoice: t.relation('invoice'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    decidedAt: t.expose('decidedAt', { type: 'DateTime', nullable: true }),
  }),
});
