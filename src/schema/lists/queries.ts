/** Reading lists. */
import { findOwnedList } from '../../domain/audience/find-owned-list.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { MailList } from './mail-list.ts';

builder.queryField('list', (t) =>
  t.prismaField({
    type: MailList,
    description: 'One list.',
    authScopes: { scope: 'lists:read' },
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedList(ctx, uid);
      return ctx.prisma.mailList.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('MailList', MailList, {
  access: { scope: 'lists:read' },
  count: (ctx, where) => ctx.prisma.mailList.count({ where }),
  find: (ctx, query) => ctx.prisma.mailList.findMany(query),
});
index.connection('lists', { description: 'All lists, the oldest first.', order: 'asc', whereOf: ownRows });
index.pages('listsPage', {
  description: 'All lists by numbered pages, the oldest first.',
  order: 'asc',
  whereOf: ownRows,
});
