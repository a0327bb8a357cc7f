/** Reading bounce handlers, the caller's own, and its policy. */
import { findOwnedBounceHandler } from '../../domain/bounces/find-owned-bounce-handler.ts';
import { bouncePolicyOfCustomer } from '../../domain/tracking/bounce-policy.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { BounceHandler } from './bounce-handler.ts';
import { BouncePolicy } from './bounce-policy.ts';

const reading = { scope: 'sending-servers:read' } as const;

builder.queryField('bounceHandler', (t) =>
  t.prismaField({
    type: BounceHandler,
    description: 'One bounce handler.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedBounceHandler(ctx, uid);
      return ctx.prisma.bounceHandler.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('BounceHandler', BounceHandler, {
  access: reading,
  count: (ctx, where) => ctx.prisma.bounceHandler.count({ where }),
  find: (ctx, query) => ctx.prisma.bounceHandler.findMany(query),
});
index.pages('bounceHandlersPage', {
  description: 'The bounce handlers by numbered pages, the oldest first.',
  order: 'asc',
  whereOf: ownRows,
});

builder.queryField('bouncePolicy', (t) =>
  t.field({
    type: BouncePolicy,
    description: 'How many soft bounces suppress an address.',
    authScopes: reading,
    resolve: (_root, _args, ctx) => bouncePolicyOfCustomer(ctx),
  }),
);
