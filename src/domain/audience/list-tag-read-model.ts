/** The tags used on lists. */
import { sql, type Queryable } from '../../db/database.ts';

/** Tags shown per list; more would need pages. */
const TAGS_SHOWN_MAX = 1_000;

/** The tags of several lists of one customer by name, in the order asked for, in one statement. */
export async function tagsOfLists(db: Queryable, customerId: bigint, listIds: readonly bigint[]): Promise<string[][]> {
  const rows = await db.query(
    { listId: 'bigint', name: 'text' },
    sql`
    SELECT k.list_id AS "listId", t.name
      FROM unnest(${[...listIds]}::bigint[]) AS k (list_id)
     CROSS JOIN LATERAL (
       SELECT name, name_key FROM list_tag WHERE customer_id = ${customerId} AND list_id = k.list_id
        ORDER BY name_key LIMIT ${TAGS_SHOWN_MAX}) t
     ORDER BY t.name_key`,
  );
  const byList = Map.groupBy(rows, (row) => row.listId);
  return listIds.map((id) => byList.get(id)?.map((row) => row.name) ?? []);
}
