/** Html and plain text of rows of a page: read only when asked for, and only so much in one request as fits in memory. */
import { htmlSizes, readContents, type Content, type ContentTable } from '../domain/content/content-read-model.ts';
import { viewerOf } from '../domain/context.ts';
import { takeContent } from './answer-content.ts';
import type { GraphqlContext } from './context.ts';
import { CONTENT_BYTES_MAX } from './limits.ts';
import { loadBy } from './loaders/load-by.ts';

/** What is read without asking for its size first: most messages have some kilobytes. */
const SMALL_BYTES = 256 * 1024;

/** Rows as they were read, and not ids: a request may change one and read it again. */
type Row = { readonly id: bigint };

/** The readers of a noun's content. Make them once, at module level. */
export function contentOf(table: ContentTable) {
  /** Throws what `takeContent` throws. */
  const read = async (ctx: GraphqlContext, rows: readonly Row[]): Promise<Content[]> => {
    const key = keyOf(ctx, table, rows);
    const small = await readContents(ctx.db, { ...key, bytesMax: SMALL_BYTES });
    await takeContent(ctx, small.bytes);
    const contents = small.contents ?? (await readLarge(ctx, key));
    const found = new Map(contents.map((content) => [content.id, content]));
    // Without its row it was deleted meanwhile.
    return rows.map(({ id }) => found.get(id) ?? { id, html: '', plain: '' });
  };
  const readSizes = (ctx: GraphqlContext, rows: readonly Row[]) => htmlSizes(ctx.db, keyOf(ctx, table, rows));
  return {
    content: (ctx: GraphqlContext, row: Row) => loadBy(ctx, read).load(row),
    htmlSize: (ctx: GraphqlContext, row: Row) => loadBy(ctx, readSizes).load(row),
  };
}

function keyOf(ctx: GraphqlContext, table: ContentTable, rows: readonly Row[]) {
  return { table, customerId: viewerOf(ctx).customerId, ids: rows.map(({ id }) => id) };
}

async function readLarge(ctx: GraphqlContext, key: ReturnType<typeof keyOf>): Promise<readonly Content[]> {
  const { bytes, contents } = await readContents(ctx.db, { ...key, bytesMax: CONTENT_BYTES_MAX });
  if (contents) return contents;
  // It grew while it waited.
  await takeContent(ctx, bytes);
  return [];
}
