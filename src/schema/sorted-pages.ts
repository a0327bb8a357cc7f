/** Numbered pages of a noun that has a name and times: sorted by one of them. Its search is `q` in the name, and when a row was made. */
import type { ObjectRef } from '@pothos/core';
import { queryFromInfo } from '@pothos/plugin-prisma';
import type { Scope } from '../domain/accounts/scopes.ts';
import { builder } from './builder.ts';
import type { GraphqlContext } from './context.ts';
import { pageArgs, pageWindow, type PageWindow } from './page.ts';

type Order = 'asc' | 'desc';

const COLUMNS = { created_at: 'createdAt', updated_at: 'updatedAt', name: 'name' } as const;
type Sort = keyof typeof COLUMNS;

const SortDirection = builder.enumType('SortDirection', {
  description: 'The order of what is sorted.',
  values: {
    asc: { description: 'The smallest or oldest first.' },
    desc: { description: 'The largest or newest first.' },
  },
});

/** The query for Prisma; columns and relations follow from the document. */
interface SortedQuery<Where> {
  readonly where: Where;
  readonly orderBy: Record<string, Order>[];
  readonly skip: number;
  readonly take: number;
}

interface Noun<Row, Where> {
  readonly access: { readonly scope: Scope };
  /** The noun's plural, in a sentence. */
  readonly rows: string;
  /** Must stand before `find`: the compiler takes `Where` from the first that names it. */
  count(ctx: GraphqlContext, where: Where): Promise<number>;
  find(ctx: GraphqlContext, query: SortedQuery<Where>): Promise<Row[]>;
}

interface SortedPage<Where> extends PageWindow {
  readonly where: Where;
  readonly sort: Sort;
  readonly direction: Order;
}

interface Asked {
  readonly sort?: Sort | null | undefined;
  readonly direction?: Order | null | undefined;
  readonly page?: number | null | undefined;
  readonly perPage?: number | null | undefined;
}

/** Defines the type of the pages, and answers its arguments and how they are read. */
export function sortedPages<Row extends { readonly id: bigint }, Where extends object>(
  name: string,
  type: ObjectRef<typeof builder.$inferSchemaTypes, Row>,
  { access, rows, count, find }: Noun<Row, Where>,
) {
  const SortEnum = builder.enumType(`${name}Sort`, {
    description: `By what ${rows} are sorted.`,
    values: {
      created_at: { description: 'When they were made.' },
      updated_at: { description: 'When they were last changed.' },
      name: { description: 'Their names.' },
    },
  });
  const Page = builder.objectRef<SortedPage<Where>>(`${name}Page`).implement({
    authScopes: access,
    fields: (t) => ({
      nodes: t.field({
        type: [type],
        resolve: ({ where, sort, direction, offset, perPage }, _args, ctx, info) => {
          const selection = queryFromInfo({ context: ctx, info, select: { id: true } });
          const orderBy = [{ [COLUMNS[sort]]: direction }, { id: direction }];
          return find(ctx, { ...selection, where, orderBy, skip: offset, take: perPage });
        },
      }),
      total: t.int({ resolve: ({ where }, _args, ctx) => count(ctx, where) }),
      page: t.exposeInt('page'),
      perPage: t.exposeInt('perPage'),
    }),
  });
  return {
    Page,
    args: () =>
      builder.args((t) => ({
        sort: t.field({ type: SortEnum, defaultValue: 'created_at' }),
        direction: t.field({ type: SortDirection, defaultValue: 'asc' }),
        ...pageArgs(),
      })),
    pageOf: ({ sort, direction, page, perPage }: Asked, where: Where): SortedPage<Where> => ({
      ...pageWindow({ page, perPage }),
      where,
      sort: sort ?? 'created_at',
      direction: direction ?? 'asc',
    }),
  };
}

/** When rows were made, as a filter. */
export function createdArgs() {
  return builder.args((t) => ({
    createdFrom: t.field({ type: 'DateTime', description: 'Only those made at this time or later.' }),
    createdTo: t.field({ type: 'DateTime', description: 'Only those made at this time or before.' }),
  }));
}

export interface CreatedFilter {
  readonly createdFrom?: Date | null | undefined;
  readonly createdTo?: Date | null | undefined;
}

/** The same for Prisma. */
export function createdBetween({ createdFrom, createdTo }: CreatedFilter) {
  return { createdAt: { ...(createdFrom ? { gte: createdFrom } : {}), ...(createdTo ? { lte: createdTo } : {}) } };
}
