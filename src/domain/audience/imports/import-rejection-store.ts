/** Rejected lines of an import. */
import { sql, typed, type Queryable, type Transaction } from '../../../db/database.ts';
import { copyRejections, type Rejection } from './copy-format.ts';
import type { RejectionReason } from './import-report.ts';
import type { ImportKey } from './list-import.ts';

const COPY_REJECTIONS =
  'COPY import_rejection (customer_id, import_id, line_no, reason_code, reason_params, cells) FROM STDIN';

export async function insertRejections(
  tx: Transaction,
  key: ImportKey,
  rejections: Iterable<Rejection>,
): Promise<void> {
  await tx.copy(COPY_REJECTIONS, copyRejections(key, rejections));
}

/** A rejected line of the file. */
export interface RejectedLine {
  readonly line: number;
  readonly reason: RejectionReason;
  readonly cells: readonly string[];
}

export interface RejectedLinesWindow {
  /** Lines after this one. */
  readonly afterLine: number;
  readonly limit: number;
}

/** Rejected lines in the order of the file. */
export async function rejectedLines(
  db: Queryable,
  { customerId, id }: ImportKey,
  { afterLine, limit }: RejectedLinesWindow,
): Promise<RejectedLine[]> {
  const rows = await db.query(
    { line: 'int', reason: typed<RejectionReason>('json'), cells: 'text' },
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
