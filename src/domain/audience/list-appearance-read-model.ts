/** How a list looks on its public pages: columns that the read models of these pages share. */
import { row, sql, type Queryable } from '../../db/database.ts';

export const LIST_APPEARANCE_ROW = row({
  listName: 'text',
  /** A code of `LANGUAGES`; null: that of the customer. */
  language: 'text?',
  customerLanguageId: 'int?',
  /** `#rrggbb`. */
  color: 'text?',
  /** Its place below `/files/`; null also when the file was deleted. */
  logo: 'text?',
});

/** The place of the logo of a list `l`, while its file is there. */
const LOGO = sql`(SELECT l.logo FROM uploaded_file lf
                   WHERE lf.token = split_part(l.logo, '/', 1) AND lf.customer_id = l.customer_id AND lf.status = 'ready')`;

/** The columns for a list `l`. */
export const LIST_APPEARANCE = sql`l.name AS "listName", l.language, l.color, ${LOGO} AS logo,
  (SELECT lc.language_id FROM customer lc WHERE lc.id = l.customer_id) AS "customerLanguageId"`;

/** The places of the logos of several lists of one customer, in the order asked for, in one statement; null: there is none. */
export async function logosOfLists(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<(string | null)[]> {
  const rows = await db.query(
    { id: 'bigint', logo: 'text?' },
    sql`SELECT l.id, ${LOGO} AS logo FROM mail_list l WHERE l.customer_id = ${customerId} AND l.id = ANY (${[...listIds]}::bigint[])`,
    'audience.logos_of_lists',
  );
  const byList = new Map(rows.map(({ id, logo }) => [id, logo]));
  return listIds.map((id) => byList.get(id) ?? null);
}
