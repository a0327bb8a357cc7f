/** Why a campaign has its status, or what it waits for, as its row says it: without what is found when somebody asks. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { reasonText, type StatusReason, type WaitReason } from '../../src/domain/campaigns/status-reason.ts';

export async function storedReason(db: Queryable, campaignId: bigint): Promise<string | null> {
  const [row] = await queryRows<{ reason: StatusReason | WaitReason | null; until: Date | null }>(
    db,
    sql`SELECT CASE WHEN coalesce(wait_kind, reason_code) IS NOT NULL THEN
                 jsonb_build_object('code', coalesce(wait_kind, reason_code), 'params', coalesce(reason_params, '{}')) END AS reason,
               wait_until AS until FROM campaign WHERE id = ${campaignId}`,
  );
  return row?.reason ? reasonText(row.reason, row.until) || null : null;
}
