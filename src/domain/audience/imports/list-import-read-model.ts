/** Reads of imports beside the row itself. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { Context } from '../../context.ts';
import { reportText, type ImportFailure, type ImportNotice, type RejectionReason } from './import-report.ts';
import { FAILURE } from './list-import-store.ts';
import type { ImportKey } from './list-import.ts';

/** A line of the file that was not taken. */
export interface RejectedLine {
  readonly line: number;
  readonly reason: RejectionReason;
  readonly cells: readonly string[];
}

/** What is told of a whole import, in words. */
export interface ImportTexts {
  readonly error: string | null;
  readonly notices: readonly string[];
}

/** The texts of these imports, in their order. */
export async function importTextsOf(
  { db }: Pick<Context, 'db'>,
  keys: readonly ImportKey[],
): Promise<(ImportTexts | Error)[]> {
  const rows = await db.query<{ no: number; failure: ImportFailure | null; notices: readonly ImportNotice[] }>(
    sql`SELECT k.no::int AS no, ${FAILURE} AS failure, i.notices
          FROM unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ id }) => id)}::bigint[]) WITH ORDINALITY AS k (customer_id, id, no)
          JOIN mail_list_import i ON i.customer_id = k.customer_id AND i.id = k.id`,
    'imports.texts',
  );
  const byNo = new Map(rows.map((row) => [row.no, row]));
  return keys.map((_key, index) => {
    const row = byNo.get(index + 1);
    if (!row) return new Error('The import is gone.');
    return { error: row.failure && reportText(row.failure), notices: row.notices.map(reportText) };
  });
}

export interface RejectedLinesWindow {
  /** Lines up to this one have been seen. */
  readonly afterLine: number;
  readonly limit: number;
}

/** Rejected lines in the order of the file. */
export async function rejectedLines(
  db: Queryable,
  { customerId, id }: ImportKey,
  { afterLine, limit }: RejectedLinesWindow,
): Promise<RejectedLine[]> {
  const rows = await db.query<{ line: number; reason: RejectionReason; cells: string }>(
    sql`SELECT line_no AS line, jsonb_build_object('code', reason_code, 'params', coalesce(reason_params, '{}')) AS reason, cells FROM import_rejection
         WHERE customer_id = ${customerId} AND import_id = ${id} AND line_no > ${afterLine} ORDER BY line_no LIMIT ${limit}`,
    'imports.rejected_lines',
  );
  return rows.map((row) => ({ ...row, cells: cellsOf(row.cells) }));
}

function cellsOf(text: string): string[] {
  const cells: unknown = JSON.parse(text);
  return Array.isArray(cells) ? cells.map(String) : [];
}
