/** Reading invoices, payments and credit. */
import { customerFor } from '../../domain/billing/billing-work.ts';
import { readCredits } from '../../domain/billing/invoices/credit-store.ts';
import { wantedPaymentStatus } from '../../domain/billing/invoices/pay-invoice.ts';
import { visibleInvoice } from '../../domain/billing/invoices/visible-invoice.ts';
import { builder } from '../builder.ts';
import { PaymentStatus } from '../enums.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { pageArgs, pageWindow } from '../page.ts';
import { Money } from '../plans/money.ts';
import { Invoice, PaymentIntent, readingMoney } from './invoice.ts';

builder.queryField('invoice', (t) =>
  t.prismaField({
    type: Invoice,
    description: 'One invoice.',
    authScopes: readingMoney,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await visibleInvoice(ctx, uid);
      return ctx.prisma.invoice.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const invoices = nounIndex('Invoice', Invoice, {
  access: readingMoney,
  count: (ctx, where) => ctx.prisma.invoice.count({ where }),
  find: (ctx, query) => ctx.prisma.invoice.findMany(query),
});
invoices.connection('invoices', {
  description: "The customer's invoices, the newest first.",
  order: 'desc',
  whereOf: ownRows,
});

const InvoicePage = invoices.definePage();

builder.queryField('invoicesPage', (t) =>
  t.field({
    type: InvoicePage,
    description: 'The invoices by numbered pages, the oldest first; for an administrator those of any customer.',
    authScopes: readingMoney,
    args: { ...pageArgs(), customerUid: t.arg.string() },
    resolve: async (_root, { customerUid, ...args }, ctx) => ({
      ...pageWindow(args),
      where: { customerId: await customerFor(ctx, customerUid) },
      order: 'asc' as const,
    }),
  }),
);

const PaymentPage = nounIndex('Payment', PaymentIntent, {
  access: { admin: true },
  count: (ctx, where: { status: string }) => ctx.prisma.paymentIntent.count({ where }),
  find: (ctx, query) => ctx.prisma.paymentIntent.findMany(query),
}).definePage();

builder.queryField('paymentsPage', (t) =>
  t.field({
    type: PaymentPage,
    description: 'Payments of all customers in a state, the oldest first; by default those that wait for approval.',
    authScopes: { admin: true },
    args: { ...pageArgs(), status: t.arg({ type: PaymentStatus }) },
    resolve: (_root, { status, ...args }) => ({
      ...pageWindow(args),
      where: { status: wantedPaymentStatus(status) },
      order: 'asc' as const,
    }),
  }),
);

builder.queryField('creditBalances', (t) =>
  t.field({
    type: [Money],
    description: 'The customer’s credit: money for unused time of earlier plans. Later invoices use it first.',
    authScopes: readingMoney,
    args: { customerUid: t.arg.string({ description: 'For administrators: of this customer.' }) },
    resolve: async (_root, { customerUid }, ctx) => readCredits(ctx.db, await customerFor(ctx, customerUid)),
  }),
);
