/** The mails that a list sends automatically: reading, changing, previewing. */
import {
  changeListMail,
  previewListMail,
  resetListMail,
  type ListMailPreview,
} from '../../domain/audience/mails/change-list-mail.ts';
import { mailsOfLists } from '../../domain/audience/mails/list-mail-store.ts';
import type { ListMail } from '../../domain/audience/mails/list-mail.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { MailList } from './mail-list.ts';

const KIND = '`confirmation`, `welcome`, `goodbye` or `unsubscribe-notification`.';

const ListMailType = builder.objectRef<ListMail>('ListMail').implement({
  description: 'The words of a mail that a list sends by itself: its owner’s, or the built-in ones.',
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    kind: t.exposeString('kind', { description: KIND }),
    subject: t.exposeString('subject'),
    html: t.exposeString('html'),
    plain: t.exposeString('plain', { description: 'Empty: made from the html.' }),
    changedAt: t.expose('changedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its owner changed it; null: the built-in words.',
    }),
  }),
});

const ListMailPreviewType = builder.objectRef<ListMailPreview>('ListMailPreview').implement({
  description: 'A mail as somebody would get it.',
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    subject: t.exposeString('subject'),
    html: t.exposeString('html', { description: 'Its author’s: show it in a sandbox.' }),
    plain: t.exposeString('plain'),
    warnings: t.stringList({
      description: 'What its author should look at, one sentence each.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

const readMails = (ctx: GraphqlContext, ids: readonly bigint[]) => mailsOfLists(ctx.db, viewerOf(ctx).customerId, ids);

builder.prismaObjectField(MailList, 'mails', (t) =>
  t.field({
    type: [ListMailType],
    description: 'The mails that the list sends by itself, every kind of them.',
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readMails).load(id),
  }),
);

const textArgs = () =>
  builder.args((t) => ({
    listUid: t.string({ required: true }),
    kind: t.string({ required: true, description: KIND }),
    subject: t.string({ description: 'Absent: as it is stored.' }),
    html: t.string({ description: 'Absent: as it is stored.' }),
    plain: t.string({ description: 'Empty: made from the html; so it is too when only the html is given.' }),
  }));

builder.queryField('previewListMail', (t) =>
  t.field({
    type: ListMailPreviewType,
    description: 'Fills a mail for a made-up reader, with the words given instead of those stored. Sends nothing.',
    authScopes: { scope: 'lists:read' },
    errors: {},
    args: textArgs(),
    resolve: (_root, args, ctx) => previewListMail(ctx, args),
  }),
);

builder.mutationField('changeListMail', (t) =>
  t.fieldWithInput({
    type: ListMailType,
    description:
      'Gives a mail other words. They are checked as those of a campaign; a confirmation needs {CONFIRM_URL}.',
    authScopes: { scope: 'lists:write' },
    errors: {},
    input: {
      listUid: t.input.string({ required: true }),
      kind: t.input.string({ required: true, description: KIND }),
      subject: t.input.string(),
      html: t.input.string(),
      plain: t.input.string({ description: 'Empty: made from the html; so it is too when only the html is given.' }),
    },
    resolve: (_root, { input }, ctx) => changeListMail(ctx, input),
  }),
);

builder.mutationField('resetListMail', (t) =>
  t.field({
    type: ListMailType,
    description: 'Gives a mail its built-in words back.',
    authScopes: { scope: 'lists:write' },
    errors: {},
    args: { listUid: t.arg.string({ required: true }), kind: t.arg.string({ required: true, description: KIND }) },
    resolve: (_root, ref, ctx) => resetListMail(ctx, ref),
  }),
);
