/** Reading plans: administrators all, others those on offer. */
import { administers } from '../../domain/billing/billing-rights.ts';
import { visiblePlan } from '../../domain/billing/plans/visible-plan.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { nounIndex } from '../noun-index.ts';
import './money.ts';
import { Plan } from './plan.ts';

const reading = { authenticated: true } as const;
const DESCRIPTION = 'The plans in their order: for administrators the archived ones too. There are at most a thousand.';
const IN_ORDER = [{ customOrder: { sort: 'asc', nulls: 'last' } }, { id: 'asc' }] as const;

builder.queryField('plan', (t) =>
  t.prismaField({
    type: Plan,
    description: 'Shows one plan: an active one, or one that the caller has or had.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { id } = await visiblePlan(ctx, uid);
      return ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

nounIndex('Plan', Plan, {
  access: reading,
  count: (ctx, where: ReturnType<typeof seenBy>) => ctx.prisma.plan.count({ where }),
  find: (ctx, query) => ctx.prisma.plan.findMany({ ...query, orderBy: [...IN_ORDER] }),
}).pages('plansPage', { description: DESCRIPTION, order: 'asc', whereOf: seenBy });

function seenBy(ctx: GraphqlContext) {
  return { status: administers(ctx) ? { not: 'deleted' } : 'active' };
}
