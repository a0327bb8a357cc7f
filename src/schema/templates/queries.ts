/** Reading templates. */
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
import { createdArgs, createdBetween, sortedPages, type CreatedFilter } from '../sorted-pages.ts';
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
    ...createdArgs(),
  }));
}

interface Filter extends CreatedFilter {
  readonly q?: string | null | undefined;
  readonly kind?: string | null | undefined;
}

/** Throws ValidationError on `q`. */
function matching(ctx: GraphqlContext, { q, kind, createdFrom, createdTo }: Filter): Where {
  const text = parseInput(searchInput, { q }).q ?? '';
  return {
    ...ownRows(ctx),
    ...(text === '' ? {} : { OR: [{ name: containing(text) }, { subject: containing(text) }] }),
    ...(kind ? { kind } : {}),
    ...createdBetween({ createdFrom, createdTo }),
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

const pages = sortedPages('Template', Template, {
  access: reading,
  rows: 'templates',
  count: (ctx, where: Where) => ctx.prisma.template.count({ where }),
  find: (ctx, query) => ctx.prisma.template.findMany(query),
});

builder.queryField('templatesPage', (t) =>
  t.field({
    type: pages.Page,
    description: 'The templates by numbered pages.',
    authScopes: reading,
    args: { ...filterArgs(), ...pages.args() },
    resolve: (_root, { sort, direction, page, perPage, ...filter }, ctx) =>
      pages.pageOf({ sort, direction, page, perPage }, matching(ctx, filter)),
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
