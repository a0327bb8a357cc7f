/** Reading an allowance: one's own, or for administrators a customer's. */
import { allowanceOf } from '../../domain/billing/plans/allowance.ts';
import { knownCustomer } from '../../domain/accounts/known-customer.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { readingMoney } from '../invoices/invoice.ts';
import { Allowance } from './allowance.ts';

builder.queryField('allowance', (t) =>
  t.field({
    type: Allowance,
    description: "What the caller's customer may do, and how much of it is used.",
    authScopes: readingMoney,
    resolve: async (_root, _args, ctx) => {
      const { customerId } = viewerOf(ctx);
      return { customerId, allowance: await allowanceOf(ctx.db, customerId) };
    },
  }),
);

builder.queryField('customerAllowance', (t) =>
  t.field({
    type: Allowance,
    description: 'The same of a customer, for administrators.',
    authScopes: { admin: true },
    args: { customerUid: t.arg.string({ required: true }) },
    resolve: async (_root, { customerUid }, ctx) => {
      const { id } = await knownCustomer(ctx, customerUid);
      return { customerId: id, allowance: await allowanceOf(ctx.db, id) };
    },
  }),
);
