/** Paying invoices offline: the customer claims, an administrator decides. */
import {
  approvePayment,
  claimPayment,
  noteInput,
  reasonInput,
  recordPayment,
  rejectPayment,
} from '../../domain/billing/invoices/pay-invoice.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { PaymentIntent } from './invoice.ts';

builder.mutationField('claimPayment', (t) =>
  t.prismaFieldWithInput({
    type: PaymentIntent,
    description:
      'Says that an invoice was paid by transfer. It waits for an administrator then; saying it twice is saying it once.',
    authScopes: { scope: 'billing:write' },
    typeOptions: { checks: noteInput.shape },
    input: {
      invoiceUid: t.input.string({ required: true }),
      note: t.input.string({ description: 'Text that helps to find the payment: when, from which account.' }),
    },
    resolve: async (query, _root, { input }, ctx) => find(query, await claimPayment(ctx, input), ctx),
  }),
);

builder.mutationField('approvePayment', (t) =>
  t.prismaField({
    type: PaymentIntent,
    description: 'Confirms the payment: the invoice is paid, and the subscription starts, renews or changes.',
    authScopes: { admin: true },
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => find(query, await approvePayment(ctx, { uid }), ctx),
  }),
);

builder.mutationField('rejectPayment', (t) =>
  t.prismaField({
    type: PaymentIntent,
    description: 'Rejects the payment; the customer may claim it again.',
    authScopes: { admin: true },
    args: { uid: t.arg.string({ required: true }), reason: t.arg.string({ check: reasonInput.shape.reason }) },
    resolve: async (query, _root, { uid, reason }, ctx) => find(query, await rejectPayment(ctx, { uid, reason }), ctx),
  }),
);

builder.mutationField('recordPayment', (t) =>
  t.prismaFieldWithInput({
    type: PaymentIntent,
    description: 'Records money that came without a claim; a claim that waits is approved by it.',
    authScopes: { admin: true },
    typeOptions: { checks: noteInput.shape },
    input: { invoiceUid: t.input.string({ required: true }), note: t.input.string() },
    resolve: async (query, _root, { input }, ctx) => find(query, await recordPayment(ctx, input), ctx),
  }),
);

type Query = Parameters<GraphqlContext['prisma']['paymentIntent']['findUniqueOrThrow']>[0];

function find(
  query: Omit<Query, 'where'>,
  { customerId, id }: { customerId: bigint; id: bigint },
  ctx: GraphqlContext,
) {
  return ctx.prisma.paymentIntent.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
}
