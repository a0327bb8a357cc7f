/**
 * The index of a noun whose rows Prisma reads: by key (a connection) and by numbered pages. The noun says where its rows are and
 * who may read them. A field with its own arguments returns what `definePage` made, or calls `byKey`.
 */
import type { ObjectRef } from '@pothos/core';
import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import type { Scope } from '../domain/accounts/scopes.ts';
import { viewerOf } from '../domain/context.ts';
import { builder } from './builder.ts';
import type { GraphqlContext } from './context.ts';
import { idConnection, type ConnectionArgs, type KeyWindow } from './key-connection.ts';
import { pageArgs, pageWindow, type PageWindow } from './page.ts';

type Order = 'asc' | 'desc';

/** The query for Prisma; columns and relations follow from the document. */
export interface RowsQuery<Where> {
  readonly where: { readonly AND: (Where | { readonly id: { readonly gt?: bigint; readonly lt?: bigint } })[] };
  readonly orderBy: { readonly id: Order };
  readonly skip?: number;
  readonly take: number;
}

interface Noun<Row, Where> {
  readonly access: { readonly scope: Scope } | { readonly admin: true } | { readonly authenticated: true };
  /** Rows of all pages together. Must stand before `find`: the compiler takes `Where` from the first that names it. */
  count(ctx: GraphqlContext, where: Where): Promise<number>;
  find(ctx: GraphqlContext, query: RowsQuery<Where>): Promise<Row[]>;
}

interface Reading<Where> {
  readonly where: Where;
  readonly order: Order;
}

/** A field that answers the index of the noun. */
interface IndexField<Where> {
  readonly description: string;
  readonly order: Order;
  whereOf(ctx: GraphqlContext): Where | Promise<Where>;
}

/** The rows of the viewer's customer. */
export function ownRows(ctx: GraphqlContext) {
  return { customerId: viewerOf(ctx).customerId };
}

/** Every row is read with its id, the key of connections. */
const ID = { id: true };
/** Both fields of a connection may ask for columns and relations. */
const NODE_PATHS = [['nodes'], ['edges', 'node']];

export function nounIndex<Row extends { readonly id: bigint }, Where extends object = ReturnType<typeof ownRows>>(
  name: string,
  type: ObjectRef<typeof builder.$inferSchemaTypes, Row>,
  { access, find, count }: Noun<Row, Where>,
) {
  /** Defines the type of its numbered pages. A field with a filter returns `Reading` with a window. */
  function definePage() {
    return builder.objectRef<PageWindow & Reading<Where>>(`${name}Page`).implement({
      authScopes: access,
      fields: (t) => ({
        nodes: t.field({
          type: [type],
          resolve: ({ where, order, offset, perPage }, _args, ctx, info) => {
            const selection = queryFromInfo({ context: ctx, info, select: ID });
            const orderBy = { id: order };
            return find(ctx, { ...selection, where: { AND: [where] }, orderBy, skip: offset, take: perPage });
          },
        }),
        total: t.int({ resolve: ({ where }, _args, ctx) => count(ctx, where) }),
        page: t.exposeInt('page'),
        perPage: t.exposeInt('perPage'),
      }),
    });
  }

  /** A page of a connection. */
  function byKey(ctx: GraphqlContext, info: GraphQLResolveInfo, args: ConnectionArgs, reading: Reading<Where>) {
    const selection = queryFromInfo({ context: ctx, info, select: ID, paths: NODE_PATHS });
    return idConnection(args, {
      idOf: ({ id }: Row) => id,
      count: () => count(ctx, reading.where),
      find: (window) => find(ctx, { ...selection, ...keyQuery(window, reading) }),
    });
  }

  return {
    definePage,
    byKey,
    /** Defines a field that answers the viewer's rows as a connection. */
    connection(field: string, { description, order, whereOf }: IndexField<Where>): void {
      builder.queryField(field, (t) =>
        t.connection(
          {
            type,
            description,
            authScopes: access,
            resolve: async (_root, args, ctx, info) => byKey(ctx, info, args, { where: await whereOf(ctx), order }),
          },
          { name: `${name}Connection` },
          { name: `${name}Edge` },
        ),
      );
    },
    /** Defines a field that answers them by numbered pages. */
    pages(field: string, { description, order, whereOf }: IndexField<Where>): void {
      const Page = definePage();
      builder.queryField(field, (t) =>
        t.field({
          type: Page,
          description,
          authScopes: access,
          args: pageArgs(),
          resolve: async (_root, args, ctx) => ({ ...pageWindow(args), where: await whereOf(ctx), order }),
        }),
      );
    },
  };
}

function keyQuery<Where>(
  { after, before, limit, backward }: KeyWindow<bigint>,
  { where, order }: Reading<Where>,
): RowsQuery<Where> {
  const [above, below] = order === 'asc' ? [after, before] : [before, after];
  const id = { ...(above === undefined ? {} : { gt: above }), ...(below === undefined ? {} : { lt: below }) };
  return {
    where: { AND: [where, { id }] },
    orderBy: { id: (order === 'asc') === backward ? 'desc' : 'asc' },
    take: limit,
  };
}
