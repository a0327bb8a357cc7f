/** Reading segments. How many people they have is a separate query: it is counted, not stored. */
import { builder } from '../builder.ts';
import { MailList } from '../lists/mail-list.ts';

export const Segment = builder.prismaObject('Segment', {
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    rule: t.field({
      type: 'JsonObject',
      description: 'In the shape of `SegmentRuleInput`.',
      select: { rule: true },
      resolve: ({ rule }) => rule,
    }),
    listUid: t.string({ select: { list: { select: { uid: true } } }, resolve: ({ list }) => list.uid }),
    list: t.relation('list', { type: MailList }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});
