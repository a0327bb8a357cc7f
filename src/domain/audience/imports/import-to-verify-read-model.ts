/** What a verification needs to know of an import whose people it verifies. */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';
import type { ImportKey } from './list-import.ts';

const IMPORT_TO_VERIFY_ROW = row({
  customerId: 'bigint',
  listId: 'bigint',
  uid: 'text',
  added: 'int',
  verifyBy: 'text?',
  suppresses: 'bool',
  afterId: 'bigint',
});
export type ImportToVerify = RowOf<typeof IMPORT_TO_VERIFY_ROW>;

/** A finished import that is to be verified and was not yet; else undefined. */
export async function importToVerify(
  db: Queryable,
  { customerId, id }: ImportKey,
): Promise<ImportToVerify | undefined> {
  const [found] = await db.query(
    IMPORT_TO_VERIFY_ROW,
    sql`SELECT i.customer_id AS "customerId", i.list_id AS "listId", i.uid, i.added, i.verify_by AS "verifyBy", i.verify_suppresses AS suppresses,
               coalesce(i.verify_after, 0) AS "afterId"
          FROM mail_list_import i
         WHERE i.customer_id = ${customerId} AND i.id = ${id} AND i.verify AND i.status = 'done'
           AND NOT EXISTS (SELECT 1 FROM verification v WHERE v.customer_id = i.customer_id AND v.list_id = i.list_id AND v.import_uid = i.uid)`,
  );
  return found;
}
