/**
 * The two dialects (decision D1): only this file knows how their answers differ. An index is a paginator in `standard` and a bare
 * array in `classic` (D2); a create is a 201 or a 200.
 */
import type { Answer, Page } from './answer.ts';
import { invalid } from './errors.ts';
import type { Input } from './input.ts';

export type Dialect = 'standard' | 'classic';

export const PER_PAGE_DEFAULT = 25;
/** Decision D2: a larger number is reduced to this, never refused. */
export const PER_PAGE_MAX = 1_000;
// So that page × per_page stays within a database's offset; past the end is an empty page anyway.
const PAGE_MAX = 1_000_000_000;

/**
 * The links repeat the query, which may have 64 KiB; clients and proxies take 8 to 16 KiB of headers and drop answers with more.
 */
const LINK_HEADER_LENGTH_MAX = 4_000;

export interface Shaped {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The address of an index request: absolute, and its query. */
export interface IndexAddress {
  readonly url: string;
  readonly query: URLSearchParams;
}

/** The dialect a header asks for. */
export function dialectOf(value: unknown): Dialect | undefined {
  return value === 'standard' || value === 'classic' ? value : undefined;
}

/** Throws RestError 422 for an unknown dialect in the header: the client would misread the answer. */
export function refuseUnknownDialect(value: unknown): void {
  if (value === undefined || dialectOf(value) !== undefined) return;
  throw invalid({ 'X-Api-Dialect': ['The X-Api-Dialect header must be standard or classic.'] });
}

/** `page` and `per_page` as an index takes them. */
export function pageArguments(input: Input): { page: number; perPage: number } {
  const perPage = input.boundedInteger('per_page') ?? PER_PAGE_DEFAULT;
  return {
    page: Math.min(Math.max(input.boundedInteger('page') ?? 1, 1), PAGE_MAX),
    perPage: perPage < 1 ? PER_PAGE_DEFAULT : Math.min(perPage, PER_PAGE_MAX),
  };
}

/** The answer in this dialect. Downloads have no shape. */
export function shape(answer: Exclude<Answer, { kind: 'stream' }>, dialect: Dialect, address: IndexAddress): Shaped {
  switch (answer.kind) {
    case 'body':
      return { status: 200, headers: {}, body: answer.body };
    case 'created':
      return { status: dialect === 'classic' ? 200 : 201, headers: {}, body: answer.body };
    case 'accepted':
      return { status: 202, headers: {}, body: answer.body };
    case 'page':
      return shapePage(answer.page, dialect, address);
  }
}

function shapePage(page: Page, dialect: Dialect, address: IndexAddress): Shaped {
  const links = pageLinks(page, address);
  const relations = Object.entries(links).flatMap(([relation, url]) =>
    url === null ? [] : [`<${url}>; rel="${relation}"`],
  );
  const link = relations.join(', ');
  const headers = {
    'X-Total-Count': String(page.total),
    ...(link.length > LINK_HEADER_LENGTH_MAX ? {} : { Link: link }),
  };
  if (dialect === 'classic') return { status: 200, headers, body: page.nodes };
  const first = (page.page - 1) * page.perPage + 1;
  const meta = {
    current_page: page.page,
    per_page: page.perPage,
    from: page.nodes.length > 0 ? first : null,
    to: page.nodes.length > 0 ? first + page.nodes.length - 1 : null,
    last_page: lastPage(page),
    total: page.total,
  };
  return { status: 200, headers, body: { data: page.nodes, links, meta } };
}

function pageLinks(page: Page, address: IndexAddress) {
  const last = lastPage(page);
  const to = (number: number) => {
    const query = new URLSearchParams(address.query);
    // A token in a link would end up in logs.
    query.delete('api_token');
    query.set('page', String(number));
    query.set('per_page', String(page.perPage));
    return `${address.url}?${query}`;
  };
  return {
    first: to(1),
    last: to(last),
    prev: page.page > 1 ? to(Math.min(page.page - 1, last)) : null,
    next: page.page < last ? to(page.page + 1) : null,
  };
}

function lastPage(page: Page): number {
  return Math.max(1, Math.ceil(page.total / page.perPage));
}
