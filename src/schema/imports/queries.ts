/** Reading and watching imports. */
import { findOwnedImport } from '../../domain/audience/imports/find-owned-import.ts';
import { watchImport } from '../../domain/audience/imports/watch-import.ts';
import { builder } from '../builder.ts';
import '../subscription-type.ts';
import { MailListImport } from './list-import.ts';

const reading = { scope: 'subscribers:read' } as const;

builder.queryField('listImport', (t) =>
  t.prismaField({
    type: MailListImport,
    description: 'One import.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedImport(ctx, uid);
      return ctx.prisma.mailListImport.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.subscriptionField('listImport', (t) =>
  t.prismaField({
    type: MailListImport,
    description:
      'The import’s present state, then each change, at most four times a second. Ends when the import ends.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    subscribe: async (_root, { uid }, ctx) => {
      await findOwnedImport(ctx, uid);
      return watchImport(ctx, ctx.notifications, uid);
    },
    resolve: (query, { customerId, id }, _args, ctx) =>
      ctx.prisma.mailListImport.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } }),
  }),
);
