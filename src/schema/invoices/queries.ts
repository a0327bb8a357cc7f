/** Reading invoices, payments and credit. */
import { customerFor } from '../../domain/billing/billing-work.ts';
import { readCredits } from '../../domain/billing/credit-store.ts';
import { visibleInvoice, wantedPaymentStatus } from '../../domain/billing/pay-invoice.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { pageArgs, pageWindow, type PageWindow } from '../page.ts';
import { Money } from '../plans/money.ts';
import { Invoice, PaymentIntent, readingMoney } from './invoice.ts';

builder.queryField('invoice', (t) =>
  t.prismaField({
    type: Invoice,
    description: 'One invoice.',
    authScopes: readingMoney,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await visibleInvoice(ctx, uid);
      return ctx.prisma.invoice.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('invoices', (t) =>
  t.prismaConnection(
    {
      type: Invoice,
      cursor: 'customerId_id',
      description: "The customer's invoices, the newest first.",
      authScopes: readingMoney,
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.invoice.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'desc' },
        }),
    },
    { name: 'InvoiceConnection' },
    { name: 'InvoiceEdge' },
  ),
);

interface InvoiceWindow extends PageWindow {
  readonly customerId: bigint;
}

const InvoicePage = builder.objectRef<InvoiceWindow>('InvoicePage').implement({
  authScopes: readingMoney,
  fields: (t) => ({
    nodes: t.prismaField({
      type: [Invoice],
      resolve: (query, { customerId, offset, perPage }, _args, ctx) =>
        ctx.prisma.invoice.findMany({
          ...query,
          where: { customerId },
          orderBy: { id: 'asc' },
          skip: offset,
          take: perPage,
        }),
    }),
    total: t.int({ resolve: ({ customerId }, _args, ctx) => ctx.prisma.invoice.count({ where: { customerId } }) }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('invoicesPage', (t) =>
  t.field({
    type: InvoicePage,
    description: 'The invoices by numbered pages, the oldest first; for an administrator those of any customer.',
    authScopes: readingMoney,
    errors: {},
    args: { ...pageArgs(), customerUid: t.arg.string() },
    resolve: async (_root, { customerUid, ...args }, ctx) => ({
      ...pageWindow(args),
      customerId: await customerFor(ctx, customerUid),
    }),
  }),
);

interface PaymentWindow extends PageWindow {
  readonly status: string;
}

const PaymentPage = builder.objectRef<PaymentWindow>('PaymentPage').implement({
  authScopes: { admin: true },
  fields: (t) => ({
    nodes: t.prismaField({
      type: [PaymentIntent],
      resolve: (query, { status, offset, perPage }, _args, ctx) =>
        ctx.prisma.paymentIntent.findMany({
          ...query,
          where: { status },
          orderBy: { id: 'asc' },
          skip: offset,
          take: perPage,
        }),
    }),
    total: t.int({ resolve: ({ status }, _args, ctx) => ctx.prisma.paymentIntent.count({ where: { status } }) }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('paymentsPage', (t) =>
  t.field({
    type: PaymentPage,
    description: 'Payments of all customers in a state, the oldest first; by default those that wait for approval.',
    authScopes: { admin: true },
    errors: {},
    args: { ...pageArgs(), status: t.arg.string({ description: 'A status of `PaymentIntent`.' }) },
    resolve: (_root, { status, ...args }) => ({ ...pageWindow(args), status: wantedPaymentStatus(status) }),
  }),
);

builder.queryField('creditBalances', (t) =>
  t.field({
    type: [Money],
    description: 'What the customer has in hand from plans it did not use up; later invoices take it first.',
    authScopes: readingMoney,
    args: { customerUid: t.arg.string({ description: 'For administrators: of this customer.' }) },
    resolve: async (_root, { customerUid }, ctx) => readCredits(ctx.db, await customerFor(ctx, customerUid)),
  }),
);
