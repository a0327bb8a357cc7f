/** Reading templates. */
import { queryFromInfo } from '@pothos/plugin-prisma';
import { z } from 'zod';
import { BUILT_IN_TEMPLATES } from '../../domain/content/templates/built-in-templates.ts';
import { findOwnedTemplate } from '../../domain/content/templates/find-owned-template.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { optionalLine, parseInput } from '../../lib/text.ts';
import { builder } from '../builder.ts';
import { containing } from '../contains.ts';
import type { GraphqlContext } from '../context.ts';
import { TemplateKind } from '../enums.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { pageArgs, pageWindow, type PageWindow } from '../page.ts';
import { BuiltInTemplate, Template } from './template.ts';

const reading = { scope: 'templates:read' } as const;

builder.queryField('template', (t) =>
  t.prismaField({
    type: Template,
    description: 'One template.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedTemplate(ctx, uid);
      return ctx.prisma.template.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

type Where = Prisma.TemplateWhereInput;

const index = nounIndex('Template', Template, {
  access: reading,
  count: (ctx, where: Where) => ctx.prisma.template.count({ where }),
  find: (ctx, query) => ctx.prisma.template.findMany(query),
});

/** As long as a name. */
const SEARCH_LENGTH_MAX = 255;
const searchInput = z.object({ q: optionalLine(SEARCH_LENGTH_MAX).nullish() });

function filterArgs() {
  return builder.args((t) => ({
    q: t.string({
      description: 'Only those with this text in their name or subject, in any case.',
      check: searchInput.shape.q,
    }),
    kind: t.field({ type: TemplateKind }),
    createdFrom: t.field({ type: 'DateTime', description: 'Only those made at this time or later.' }),
    createdTo: t.field({ type: 'DateTime', description: 'Only those made at this time or before.' }),
  }));
}

interface Filter {
  readonly q?: string | null | undefined;
  readonly kind?: string | null | undefined;
  readonly createdFrom?: Date | null | undefined;
  readonly createdTo?: Date | null | undefined;
}

/** Throws ValidationError on `q`. */
function matching(ctx: GraphqlContext, { q, kind, createdFrom, createdTo }: Filter): Where {
  const text = parseInput(searchInput, { q }).q ?? '';
  return {
    ...ownRows(ctx),
    ...(text === '' ? {} : { OR: [{ name: containing(text) }, { subject: containing(text) }] }),
    ...(kind ? { kind } : {}),
    createdAt: { ...(createdFrom ? { gte: createdFrom } : {}), ...(createdTo ? { lte: createdTo } : {}) },
  };
}

builder.queryField('templates', (t) =>
  t.connection(
    {
      type: Template,
      description: 'The templates, the newest first.',
      authScopes: reading,
      args: filterArgs(),
      resolve: (_root, { q, kind, createdFrom, createdTo, ...args }, ctx, info) =>
        index.byKey(ctx, info, args, { where: matching(ctx, { q, kind, createdFrom, createdTo }), order: 'desc' }),
    },
    { name: 'TemplateConnection' },
    { name: 'TemplateEdge' },
  ),
);

const TemplateSort = builder.enumType('TemplateSort', {
  description: 'By what templates are sorted.',
  values: {
    created_at: { description: 'When they were made.' },
    updated_at: { description: 'When they were last changed.' },
    name: { description: 'Their names.' },
  },
});

const SortDirection = builder.enumType('SortDirection', {
  description: 'The order of what is sorted.',
  values: {
    asc: { description: 'The smallest or oldest first.' },
    desc: { description: 'The largest or newest first.' },
  },
});

const COLUMNS = { created_at: 'createdAt', updated_at: 'updatedAt', name: 'name' } as const;

interface SortedPage extends PageWindow {
  readonly where: Where;
  readonly sort: keyof typeof COLUMNS;
  readonly direction: 'asc' | 'desc';
}

/** What is selected follows from the document. */
type PageQuery = Pick<Prisma.TemplateFindManyArgs, 'where' | 'orderBy' | 'skip' | 'take'>;

const TemplatePage = builder.objectRef<SortedPage>('TemplatePage').implement({
  authScopes: reading,
  fields: (t) => ({
    nodes: t.field({
      type: [Template],
      resolve: ({ where, sort, direction, offset, perPage }, _args, ctx, info) => {
        const selection = queryFromInfo({ context: ctx, info, select: { id: true } });
        const orderBy = [{ [COLUMNS[sort]]: direction }, { id: direction }];
        const query: PageQuery = { ...selection, where, orderBy, skip: offset, take: perPage };
        return ctx.prisma.template.findMany(query);
      },
    }),
    total: t.int({ resolve: ({ where }, _args, ctx) => ctx.prisma.template.count({ where }) }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('templatesPage', (t) =>
  t.field({
    type: TemplatePage,
    description: 'The templates by numbered pages.',
    authScopes: reading,
    args: {
      ...filterArgs(),
      sort: t.arg({ type: TemplateSort, defaultValue: 'created_at' }),
      direction: t.arg({ type: SortDirection, defaultValue: 'asc' }),
      ...pageArgs(),
    },
    resolve: (_root, { sort, direction, page, perPage, ...filter }, ctx) => ({
      ...pageWindow({ page, perPage }),
      where: matching(ctx, filter),
      sort: sort ?? 'created_at',
      direction: direction ?? 'asc',
    }),
  }),
);

builder.queryField('builtInTemplates', (t) =>
  t.field({
    type: [BuiltInTemplate],
    description: 'The templates that come with the product.',
    authScopes: reading,
    resolve: () => [...BUILT_IN_TEMPLATES],
  }),
);
