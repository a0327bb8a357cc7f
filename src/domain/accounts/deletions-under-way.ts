/** The caller's deleted objects that are still being erased (erase-deleted.ts). */
import { sql, row, typed, type RowOf } from '../../db/database.ts';
import { viewerOf, type Context } from '../context.ts';

const DELETION_UNDER_WAY_ROW = row({
  kind: typed<'list' | 'campaign'>('text'),
  uid: 'text',
  name: 'text',
  /** People of the list or recipients of the campaign, and how many of them are erased. */
  total: 'float8',
  erased: 'float8',
  requestedAt: 'timestamptz',
});
export type DeletionUnderWay = RowOf<typeof DELETION_UNDER_WAY_ROW>;

/** The rest is shown when these are done. */
const SHOWN_MAX = 100;

/** The oldest first. */
export function deletionsUnderWay(ctx: Context): Promise<DeletionUnderWay[]> {
  return ctx.db.query(
    DELETION_UNDER_WAY_ROW,
    sql`
    SELECT CASE WHEN is_list THEN 'list' ELSE 'campaign' END AS kind, uid, name, total::float8 AS total, erased::float8 AS erased, requested_at AS "requestedAt"
      FROM hot.deletion WHERE customer_id = ${viewerOf(ctx).customerId} ORDER BY id LIMIT ${SHOWN_MAX}`,
  );
}
