/** Paying invoices through gateways. */
import { offeredGateways } from '../../domain/billing/gateways/offered-gateways.ts';
import type { StoredGateway } from '../../domain/billing/gateways/payment-gateway.ts';
import { startPayment, type StartedPayment } from '../../domain/billing/payments/start-payment.ts';
import { refreshInvoice } from '../../domain/billing/payments/sync-payments.ts';
import { visibleInvoice } from '../../domain/billing/invoices/visible-invoice.ts';
import { builder } from '../builder.ts';
import { Invoice, PaymentIntent, readingMoney } from './invoice.ts';

const OfferedPaymentGateway = builder.objectRef<StoredGateway>('OfferedPaymentGateway').implement({
  description: 'A payment gateway through which an invoice can be paid.',
  authScopes: readingMoney,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    type: t.exposeString('type'),
    name: t.exposeString('name'),
  }),
});

builder.prismaObjectField(Invoice, 'paymentGateways', (t) =>
  t.field({
    type: [OfferedPaymentGateway],
    authScopes: readingMoney,
    description:
      'The gateways through which it can be paid now: active ones that its plan allows and that take its currency. None when there is nothing to pay.',
    select: { uid: true, status: true },
    resolve: async ({ uid, status }, _args, ctx) =>
      status === 'pending' ? offeredGateways(ctx, await visibleInvoice(ctx, uid)) : [],
  }),
);

const StartedPaymentType = builder.objectRef<StartedPayment>('StartedPayment').implement({
  description: 'A payment that was begun.',
  authScopes: readingMoney,
  fields: (t) => ({
    url: t.string({
      description: 'Where the browser goes to pay.',
      resolve: ({ path }, _args, ctx) => `${ctx.installation.baseUrl}${path}`,
    }),
    payment: t.field({
      type: PaymentIntent,
      nullable: true,
      description: 'Null for `offline`: there is a payment when it was reported.',
      resolve: ({ payment }, _args, ctx) => {
        if (payment === null) return null;
        const { customerId, id } = payment;
        return ctx.prisma.paymentIntent.findUniqueOrThrow({ where: { customerId_id: { customerId, id } } });
      },
    }),
  }),
});

builder.mutationField('startPayment', (t) =>
  t.fieldWithInput({
    type: StartedPaymentType,
    description:
      'Begins to pay an invoice through a gateway. A try through the same gateway that is open is continued, one through another gateway is cancelled.',
    authScopes: { scope: 'billing:write' },
    input: {
      invoiceUid: t.input.string({ required: true }),
      gatewayUid: t.input.string({ required: true, description: 'One of the invoice’s `paymentGateways`.' }),
    },
    resolve: (_root, { input }, ctx) => startPayment(ctx, input),
  }),
);

builder.mutationField('refreshInvoice', (t) =>
  t.prismaField({
    type: Invoice,
    description: 'Reads at the vendors whether an invoice was paid. The same happens every minute by itself.',
    authScopes: { scope: 'billing:write' },
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await refreshInvoice(ctx, { uid });
      return ctx.prisma.invoice.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);
