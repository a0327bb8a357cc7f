/** Reading payment gateways: administrators only. */
import { gatewayTypes } from '../../domain/billing/gateways/open-gateway.ts';
import { knownGateway } from '../../domain/billing/gateways/save-gateway.ts';
import { builder } from '../builder.ts';
import { nounIndex } from '../noun-index.ts';
import { forAdministrators, PaymentGateway, PaymentGatewayType } from './payment-gateway.ts';

builder.queryField('paymentGateway', (t) =>
  t.prismaField({
    type: PaymentGateway,
    description: 'One payment gateway.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { id } = await knownGateway(ctx, uid);
      return ctx.prisma.paymentGateway.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

const index = nounIndex('PaymentGateway', PaymentGateway, {
  access: forAdministrators,
  count: (ctx, where: object) => ctx.prisma.paymentGateway.count({ where }),
  find: (ctx, query) => ctx.prisma.paymentGateway.findMany(query),
});
index.pages('paymentGatewaysPage', {
  description: 'The payment gateways by numbered pages, the oldest first.',
  order: 'asc',
  whereOf: () => ({}),
});

builder.queryField('paymentGatewayTypes', (t) =>
  t.field({
    type: [PaymentGatewayType],
    description: 'The kinds of payment gateways that can be set up here.',
    authScopes: forAdministrators,
    resolve: (_root, _args, ctx) => [...gatewayTypes(ctx)],
  }),
);
