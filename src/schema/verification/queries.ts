/** Reading and watching verifications. */
import { findOwnedVerification } from '../../domain/verification/find-owned-verification.ts';
import { watchVerification } from '../../domain/verification/watch-verification.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import '../subscription-type.ts';
import { Verification } from './verification.ts';

const reading = { scope: 'subscribers:read' } as const;

builder.queryField('verification', (t) =>
  t.prismaField({
    type: Verification,
    description: 'One verification.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedVerification(ctx, uid);
      return ctx.prisma.verification.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('Verification', Verification, {
  access: reading,
  count: (ctx, where) => ctx.prisma.verification.count({ where }),
  find: (ctx, query) => ctx.prisma.verification.findMany(query),
});
index.connection('verifications', {
  description: 'The verifications, the newest first.',
  order: 'desc',
  whereOf: ownRows,
});
index.pages('verificationsPage', { description: 'The same by numbered pages.', order: 'desc', whereOf: ownRows });

builder.subscriptionField('verification', (t) =>
  t.prismaField({
    type: Verification,
    description: 'The verification’s present state, then each change. Ends when the verification ends.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    subscribe: async (_root, { uid }, ctx) => {
      await findOwnedVerification(ctx, uid);
      return watchVerification(ctx, ctx.notifications, uid);
    },
    resolve: (query, { customerId, id }, _args, ctx) =>
      ctx.prisma.verification.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } }),
  }),
);
