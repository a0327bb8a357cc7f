/**
 * Numbered pages, for clients that count pages (REST, decision D2). All others read connections by key. A page past the end is
 * empty; a page below 1 is page 1; a larger size is reduced to the maximum.
 */
import { rowsInput } from './page-inputs.ts';
import { z } from 'zod';
import type { ObjectRef } from '@pothos/core';
import type { Scope } from '../domain/accounts/scopes.ts';
import { builder } from './builder.ts';
import { PER_PAGE_DEFAULT, PER_PAGE_MAX } from './limits.ts';

export interface Page<Node> {
  readonly nodes: readonly Node[];
  /** Rows of all pages together, from a counter. */
  readonly total: number;
  readonly page: number;
  readonly perPage: number;
}

export interface PageWindow {
  readonly page: number;
  readonly perPage: number;
  /** Rows before the page. */
  readonly offset: number;
}

/** The arguments of a field with numbered pages: spread it into `args`. */
export function pageArgs() {
  return builder.args((t) => ({
    page: t.int({ defaultValue: 1, check: z.int().min(1) }),
    perPage: t.int({
      defaultValue: PER_PAGE_DEFAULT,
      description: 'Rows of a page. A larger number is reduced.',
      check: rowsInput(PER_PAGE_MAX),
    }),
  }));
}

/** The window for these arguments. */
export function pageWindow(args: {
  page?: number | null | undefined;
  perPage?: number | null | undefined;
}): PageWindow {
  const page = Math.max(1, args.page ?? 1);
  const perPage = Math.min(PER_PAGE_MAX, Math.max(1, args.perPage ?? PER_PAGE_DEFAULT));
  return { page, perPage, offset: (page - 1) * perPage };
}

/** Defines `<name>` as a numbered page of `type`; reading it needs `scope`. */
export function definePage<Node>(name: string, type: Parameters<typeof nodeField<Node>>[0], scope: Scope) {
  return builder.objectRef<Page<Node>>(name).implement({
    authScopes: { scope },
    fields: (t) => ({
      nodes: t.field({ type: [type], resolve: ({ nodes }) => [...nodes] }),
      total: t.exposeInt('total'),
      page: t.exposeInt('page'),
      perPage: t.exposeInt('perPage'),
    }),
  });
}

function nodeField<Node>(type: ObjectRef<typeof builder.$inferSchemaTypes, Node>) {
  return type;
}
