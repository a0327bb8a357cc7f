/** Reading subscriptions: one's own, or for administrators those of all customers. */
import { customerFor, visibleSubscription } from '../../domain/billing/billing-work.ts';
import { planNotFound } from '../../domain/billing/billing-errors.ts';
import { findPlan } from '../../domain/billing/plans/plan-store.ts';
import { findPending, findRunning } from '../../domain/billing/subscriptions/subscription-store.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { SubscriptionStatus } from '../enums.ts';
import { readingMoney } from '../invoices/invoice.ts';
import { nounIndex } from '../noun-index.ts';
import { pageArgs, pageWindow } from '../page.ts';
import { PlanSubscription } from './plan-subscription.ts';

builder.queryField('subscription', (t) =>
  t.prismaField({
    type: PlanSubscription,
    description: 'One subscription: of the caller, or for an administrator any.',
    authScopes: readingMoney,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await visibleSubscription(ctx, uid);
      return ctx.prisma.subscription.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('mySubscription', (t) =>
  t.prismaField({
    type: PlanSubscription,
    nullable: true,
    description: 'The one that runs, else the one that waits for its first payment.',
    authScopes: readingMoney,
    resolve: async (query, _root, _args, ctx) => {
      const { customerId } = viewerOf(ctx);
      const found = (await findRunning(ctx.db, customerId)) ?? (await findPending(ctx.db, customerId));
      return found
        ? ctx.prisma.subscription.findUniqueOrThrow({
            ...query,
            where: { customerId_id: { customerId, id: found.id } },
          })
        : null;
    },
  }),
);

interface Filter {
  readonly planId?: bigint;
  readonly customerId?: bigint;
  readonly status?: string;
}

const SubscriptionPage = nounIndex('PlanSubscription', PlanSubscription, {
  access: { admin: true },
  count: (ctx, where: Filter) => ctx.prisma.subscription.count({ where }),
  // With a join, the plans of all rows before the page would be read as well.
  find: (ctx, query) => ctx.prisma.subscription.findMany({ ...query, relationLoadStrategy: 'query' }),
}).definePage();

builder.queryField('subscriptionsPage', (t) =>
  t.field({
    type: SubscriptionPage,
    description: 'Subscriptions of all customers by numbered pages, the oldest first.',
    authScopes: { admin: true },
    args: {
      ...pageArgs(),
      planUid: t.arg.string(),
      customerUid: t.arg.string(),
      status: t.arg({ type: SubscriptionStatus }),
    },
    resolve: async (_root, { planUid, customerUid, status, ...args }, ctx) => {
      const plan = planUid ? await findPlan(ctx.db, planUid) : null;
      if (plan === undefined) throw planNotFound();
      const where = {
        ...(plan ? { planId: plan.id } : {}),
        ...(customerUid ? { customerId: await customerFor(ctx, customerUid) } : {}),
        ...(status ? { status } : {}),
      };
      return { ...pageWindow(args), where, order: 'asc' as const };
    },
  }),
);
