/**
 * A list's people as a CSV file that can be imported again (decision D47), read page by page by key: no transaction is open
 * between two pages, and memory does not grow with the list. People who are added meanwhile are at the end.
 */
import { csvLine } from '../../lib/csv.ts';
import { ValidationError } from '../../lib/errors.ts';
import { requireAllowed } from '../billing/plans/require-allowed.ts';
import type { Context } from '../context.ts';
import { fieldsOfList } from './list-field-store.ts';
import { findOwnedList } from './find-owned-list.ts';
import { peopleToExport, type ExportedPerson } from './subscriber-read-model.ts';

/** People per page: the overhead is small then, and many pages fit into memory. */
export const EXPORT_PAGE_MAX = 2_000;

export interface ExportPage {
  /** RFC 4180; the first page begins with the header. */
  readonly csv: string;
  /** Where the next page begins; null: this was the last one. */
  readonly cursor: string | null;
}

/**
 * One page of the caller's list in the order of adding. Throws NotFoundError `LIST_NOT_FOUND`, ForeignResourceError of the same
 * code, ForbiddenError when the plan excludes exports, ValidationError on `after`.
 */
export async function exportList(
  ctx: Context,
  { listUid, after, limit }: { listUid: string; after: string | null; limit: number },
): Promise<ExportPage> {
  const list = await findOwnedList(ctx, listUid);
  await requireAllowed(ctx, 'list_export');
  if (after !== null && !/^\d{1,18}$/.test(after))
    throw new ValidationError({ after: ['This cursor does not belong to this export.'] });
  const tags = (await fieldsOfList(ctx.db, list)).map(({ tag }) => tag).filter((tag) => tag !== 'EMAIL');
  const rows = await peopleToExport(ctx.db, list, { afterId: BigInt(after ?? 0), limit });
  const header =
    after === null ? csvLine(['EMAIL', 'STATUS', 'TAGS', ...tags, 'SOURCE', 'CREATED_AT', 'UPDATED_AT']) : '';
  const lines = rows.map((row) => lineOf(row, tags));
  const last = rows.at(-1);
  return { csv: header + lines.join(''), cursor: last && rows.length === limit ? String(last.id) : null };
}

function lineOf(
  { email, status, tags, fields, source, createdAt, updatedAt }: ExportedPerson,
  columns: readonly string[],
): string {
  const values = columns.map((tag) => fields[tag] ?? '');
  return csvLine([email, status, tags.map(escapedTag).join(','), ...values, source, createdAt, updatedAt]);
}

/** A comma separates tags, and imports also accept ; and | as separators, as in files of other products. */
function escapedTag(tag: string): string {
  return tag.replace(/[\\;|]/g, '\\$&');
}
