/** Reading templates: those of a customer, and the built-in ones. */
import {
  BUILT_IN_NAMES,
  type BuiltInTemplate as BuiltIn,
} from '../../domain/content/templates/built-in/built-in-template.ts';
import { CONTENT_LIMIT } from '../answer-content.ts';
import { builder } from '../builder.ts';
import { contentOf } from '../content-fields.ts';
import { TemplateKind } from '../enums.ts';

const reading = { scope: 'templates:read' } as const;
const KEY = { id: true } as const;
const { content } = contentOf('template');

const PLAIN = 'The plain text part; empty: made from the html.';

export const Template = builder.prismaObject('Template', {
  description: 'The texts of a message under a name.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    kind: t.expose('kind', { type: TemplateKind }),
    subject: t.exposeString('subject'),
    preheader: t.exposeString('preheader', { description: 'Empty: none.' }),
    html: t.string({
      description: `Empty: there is only plain text. ${CONTENT_LIMIT}`,
      select: KEY,
      resolve: async (row, _args, ctx) => (await content(ctx, row)).html,
    }),
    plain: t.string({
      description: `${PLAIN} ${CONTENT_LIMIT}`,
      select: KEY,
      resolve: async (row, _args, ctx) => (await content(ctx, row)).plain,
    }),
    version: t.exposeInt('version', { description: 'Grows with each change.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

const DESCRIPTIONS: Readonly<Record<BuiltIn['name'], string>> = {
  plain_letter: 'Text as one person writes to another.',
  newsletter: 'An introduction and three stories.',
  announcement: 'One piece of news and one button.',
  receipt: 'What somebody bought; transactional.',
  welcome: 'The first mail to a new subscriber.',
  re_permission: 'Asks whether somebody wants to stay.',
};

export const BuiltInTemplateName = builder.enumType('BuiltInTemplateName', {
  description: 'A template that comes with the product.',
  values: Object.fromEntries(BUILT_IN_NAMES.map((name) => [name, { description: DESCRIPTIONS[name] }])),
});

export const BuiltInTemplate = builder.objectRef<BuiltIn>('BuiltInTemplate').implement({
  description: 'A template that comes with the product: copy it, and change the copy.',
  authScopes: reading,
  fields: (t) => ({
    name: t.field({ type: BuiltInTemplateName, resolve: ({ name }) => name }),
    title: t.exposeString('title'),
    description: t.exposeString('description'),
    kind: t.field({ type: TemplateKind, resolve: ({ kind }) => kind }),
    subject: t.exposeString('subject'),
    preheader: t.exposeString('preheader'),
    html: t.exposeString('html'),
    plain: t.exposeString('plain', { description: PLAIN }),
  }),
});
