/** The mails that a list sends automatically: reading, changing, previewing. */
import { mailTextsInput } from '../../domain/audience/mails/list-mail.ts';
import {
  changeListMail,
  kindInput,
  type ListMailPreview,
  previewListMail,
  resetListMail,
} from '../../domain/audience/mails/change-list-mail.ts';
import { mailsOfLists } from '../../domain/audience/mails/list-mail-store.ts';
import type { ListMail } from '../../domain/audience/mails/list-mail.ts';
import { viewerOf } from '../../domain/context.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { MailList } from './mail-list.ts';

const KIND = '`confirmation`, `welcome`, `goodbye` or `unsubscribe-notification`.';

const ListMailType = builder.objectRef<ListMail>('ListMail').implement({
  description: 'The text of a mail that a list sends automatically: its owner’s, or the built-in one.',
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    kind: t.exposeString('kind', { description: KIND }),
    subject: t.exposeString('subject'),
    html: t.exposeString('html'),
    plain: t.exposeString('plain', { description: 'Empty: made from the html.' }),
    changedAt: t.expose('changedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its owner changed it; null: it is the built-in text.',
    }),
  }),
});

const ListMailPreviewType = builder.objectRef<ListMailPreview>('ListMailPreview').implement({
  description: 'A mail as a person would get it.',
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    subject: t.exposeString('subject'),
    html: t.exposeString('html', { description: 'Written by its author: show it in a sandbox.' }),
    plain: t.exposeString('plain'),
    warnings: t.stringList({
      description: 'Warnings for its author, one sentence each.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

/** Lists whose mails are read before their size is known: 30 MB of the longest ones. */
const LISTS_AT_ONCE = 50;

async function readMails(ctx: GraphqlContext, ids: readonly bigint[]): Promise<ListMail[][]> {
  const mails: ListMail[][] = [];
  for (let from = 0; from < ids.length; from += LISTS_AT_ONCE) {
    const some = await mailsOfLists(ctx.db, viewerOf(ctx).customerId, ids.slice(from, from + LISTS_AT_ONCE));
    const texts = some.flat().flatMap(({ html, plain }) => [html, plain]);
    await takeContent(
      ctx,
      texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0),
    );
    mails.push(...some);
  }
  return mails;
}

builder.prismaObjectField(MailList, 'mails', (t) =>
  t.field({
    type: [ListMailType],
    description: 'The mails that the list sends automatically, one of each kind.',
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readMails).load(id),
  }),
);

const textArgs = () =>
  builder.args((t) => ({
    listUid: t.string({ required: true }),
    kind: t.string({ required: true, check: kindInput.shape.kind }),
    subject: t.string({ description: 'Absent: the stored text.', check: mailTextsInput.shape.subject }),
    html: t.string({ description: 'Absent: the stored text.', check: mailTextsInput.shape.html }),
    plain: t.string({
      check: mailTextsInput.shape.plain,
      description: 'Empty: made from the html; so it is too when only the html is given.',
    }),
  }));

builder.queryField('previewListMail', (t) =>
  t.field({
    type: ListMailPreviewType,
    description:
      'Composes a mail for an invented reader, with the given text in place of the stored one. Sends nothing.',
    authScopes: { scope: 'lists:read' },
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
    typeOptions: { checks: { ...kindInput.shape, ...mailTextsInput.shape } },
    input: {
      listUid: t.input.string({ required: true }),
      kind: t.input.string({ required: true }),
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
    description: 'Goes back to the built-in text of a mail.',
    authScopes: { scope: 'lists:write' },
    args: {
      listUid: t.arg.string({ required: true }),
      kind: t.arg.string({ required: true, check: kindInput.shape.kind }),
    },
    resolve: (_root, ref, ctx) => resetListMail(ctx, ref),
  }),
);
