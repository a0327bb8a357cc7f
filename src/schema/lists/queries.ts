/** Reading lists. */
import { ownList } from '../../domain/audience/own-list.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { pageArgs, pageWindow, type PageWindow } from '../page.ts';
import { MailList } from './mail-list.ts';

builder.queryField('list', (t) =>
  t.prismaField({
    type: MailList,
    description: 'One list.',
    authScopes: { scope: 'lists:read' },
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await ownList(ctx, uid);
      return ctx.prisma.mailList.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('lists', (t) =>
  t.prismaConnection(
    {
      type: MailList,
      cursor: 'customerId_id',
      description: 'All lists, the oldest first.',
      authScopes: { scope: 'lists:read' },
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.mailList.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'asc' },
        }),
    },
    { name: 'MailListConnection' },
    { name: 'MailListEdge' },
  ),
);

const MailListPage = builder.objectRef<PageWindow>('MailListPage').implement({
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    nodes: t.prismaField({
      type: [MailList],
      resolve: (query, { offset, perPage }, _args, ctx) =>
        ctx.prisma.mailList.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'asc' },
          skip: offset,
          take: perPage,
        }),
    }),
    total: t.int({
      resolve: (_page, _args, ctx) => ctx.prisma.mailList.count({ where: { customerId: viewerOf(ctx).customerId } }),
    }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('listsPage', (t) =>
  t.field({
    type: MailListPage,
    description: 'All lists by numbered pages, the oldest first.',
    authScopes: { scope: 'lists:read' },
    args: pageArgs(),
    resolve: (_root, args) => pageWindow(args),
  }),
);
