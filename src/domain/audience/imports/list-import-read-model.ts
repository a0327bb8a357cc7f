/** Reads of imports other than the row itself. */
import { sql, typed, row } from '../../../db/database.ts';
import type { Context } from '../../context.ts';
import { reportText, type ImportFailure, type ImportNotice } from './import-report.ts';
import { FAILURE } from './list-import-store.ts';
import type { ImportKey } from './list-import.ts';

/** Texts about a whole import. */
export interface ImportTexts {
  readonly error: string | null;
  readonly notices: readonly string[];
}

const IMPORT_TEXTS_ROW = row({
  no: 'int',
  failure: typed<ImportFailure>('json?'),
  notices: typed<readonly ImportNotice[]>('json'),
});

/** The texts of these imports, in their order. */
export async function importTextsOf(
  { db }: Pick<Context, 'db'>,
  keys: readonly ImportKey[],
): Promise<(ImportTexts | Error)[]> {
  const rows = await db.query(
    IMPORT_TEXTS_ROW,
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
