/** Reading bounce handlers, the caller's own, and its policy. */
import { ownBounceHandler } from '../../domain/bounces/own-bounce-handler.ts';
import { viewerOf } from '../../domain/context.ts';
import { ownBouncePolicy } from '../../domain/tracking/bounce-policy.ts';
import { builder } from '../builder.ts';
import { countedPage, pageArgs } from '../page.ts';
import { BounceHandler, BounceHandlerPage } from './bounce-handler.ts';
import { BouncePolicy } from './bounce-policy.ts';

const reading = { scope: 'sending-servers:read' } as const;

builder.queryField('bounceHandler', (t) =>
  t.prismaField({
    type: BounceHandler,
    description: 'One bounce handler.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await ownBounceHandler(ctx, uid);
      return ctx.prisma.bounceHandler.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('bounceHandlersPage', (t) =>
  t.field({
    type: BounceHandlerPage,
    description: 'The bounce handlers by numbered pages, the oldest first.',
    authScopes: reading,
    args: pageArgs(),
    resolve: (_root, args, ctx) => {
      const where = { customerId: viewerOf(ctx).customerId };
      return countedPage(args, {
        find: (window) => ctx.prisma.bounceHandler.findMany({ where, orderBy: { id: 'asc' }, ...window }),
        count: () => ctx.prisma.bounceHandler.count({ where }),
      });
    },
  }),
);

builder.queryField('bouncePolicy', (t) =>
  t.field({
    type: BouncePolicy,
    description: 'How many soft bounces suppress an address.',
    authScopes: reading,
    resolve: (_root, _args, ctx) => ownBouncePolicy(ctx),
  }),
);
