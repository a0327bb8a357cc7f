/** The caller's deleted objects that are still being erased (erase-deleted.ts). */
import { sql } from '../../db/database.ts';
import { viewerOf, type Context } from '../context.ts';

export interface DeletionUnderWay {
  readonly kind: 'list' | 'campaign';
  readonly uid: string;
  readonly name: string;
  /** People of the list or recipients of the campaign, and how many of them are erased. */
  readonly total: number;
  readonly erased: number;
  readonly requestedAt: Date;
}

/** The rest is shown when these are done. */
const SHOWN_MAX = 100;

/** The oldest first. */
export function deletionsUnderWay(ctx: Context): Promise<DeletionUnderWay[]> {
  return ctx.db.query<DeletionUnderWay & Record<string, unknown>>(sql`
    SELECT CASE WHEN is_list THEN 'list' ELSE 'campaign' END AS kind, uid, name, total::float8 AS total, erased::float8 AS erased, requested_at AS "requestedAt"
      FROM hot.deletion WHERE customer_id = ${viewerOf(ctx).customerId} ORDER BY id LIMIT ${SHOWN_MAX}`);
}
