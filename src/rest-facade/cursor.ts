/** Indexes that go forward only: `after` is the `next` of the answer before. */
import { PER_PAGE_DEFAULT } from './dialects.ts';
import type { Input } from './input.ts';
import { z } from 'zod';

/** What the schema's connections give at once. */
const FIRST_MAX = 100;

/** `after` and `per_page` as a connection takes them. */
export function cursorArguments(input: Input): { first: number; after: string | null } {
  const perPage = input.boundedInteger('per_page') ?? PER_PAGE_DEFAULT;
  return {
    first: perPage < 1 ? PER_PAGE_DEFAULT : Math.min(perPage, FIRST_MAX),
    after: input.nullableText('after') ?? null,
  };
}

interface Connection<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** The rows under this name, and where the next ones begin; null: these are the last. */
export function cursorBody<Node>(name: string, connection: Connection<Node>, present: (node: Node) => unknown) {
  const { hasNextPage, endCursor } = connection.pageInfo;
  return { [name]: connection.nodes.map(present), next: hasNextPage ? endCursor : null };
}

/** The shape of that. */
export function cursorShape<Shape extends z.ZodType>(name: string, row: Shape) {
  return z.strictObject({ [name]: z.array(row), next: z.string().nullable() });
}
