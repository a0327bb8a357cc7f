/** Reads of imports beside the row itself. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { ImportKey } from './list-import.ts';

/** A line of the file that was not taken. */
export interface RejectedLine {
  readonly line: number;
  readonly reason: string;
  readonly cells: readonly string[];
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
  const rows = await db.query<{ line: number; reason: string; cells: string }>(
    sql`SELECT line_no AS line, reason, cells FROM import_rejection
         WHERE customer_id = ${customerId} AND import_id = ${id} AND line_no > ${afterLine} ORDER BY line_no LIMIT ${limit}`,
    'imports.rejected_lines',
  );
  return rows.map((row) => ({ ...row, cells: cellsOf(row.cells) }));
}

function cellsOf(text: string): string[] {
  const cells: unknown = JSON.parse(text);
  return Array.isArray(cells) ? cells.map(String) : [];
}
