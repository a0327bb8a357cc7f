/** Reading plans: administrators all, everybody else those on offer. */
import { administers } from '../../domain/billing/billing-rights.ts';
import { visiblePlan } from '../../domain/billing/plan-read-model.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { pageArgs, pageWindow, type PageWindow } from '../page.ts';
import './money.ts';
import { Plan } from './plan.ts';

const reading = { authenticated: true } as const;

builder.queryField('plan', (t) =>
  t.prismaField({
    type: Plan,
    description: 'One plan: on offer, or one that the caller has or had.',
    authScopes: reading,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { id } = await visiblePlan(ctx, uid);
      return ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

const PlanPage = builder.objectRef<PageWindow>('PlanPage').implement({
  authScopes: reading,
  fields: (t) => ({
    nodes: t.prismaField({
      type: [Plan],
      resolve: (query, { offset, perPage }, _args, ctx) =>
        ctx.prisma.plan.findMany({
          ...query,
          where: seenBy(ctx),
          orderBy: [{ customOrder: { sort: 'asc', nulls: 'last' } }, { id: 'asc' }],
          skip: offset,
          take: perPage,
        }),
    }),
    total: t.int({ resolve: (_page, _args, ctx) => ctx.prisma.plan.count({ where: seenBy(ctx) }) }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('plansPage', (t) =>
  t.field({
    type: PlanPage,
    description: 'The plans in their order: for administrators the archived ones too. There are at most a thousand.',
    authScopes: reading,
    args: pageArgs(),
    resolve: (_root, args) => pageWindow(args),
  }),
);

function seenBy(ctx: GraphqlContext) {
  return { status: administers(ctx) ? { not: 'deleted' } : 'active' };
}
