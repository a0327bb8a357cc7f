/** Reads for those who watch all campaigns of a customer. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import type { CampaignStatus } from './campaign-state-store.ts';

const CAMPAIGN_HEAD_ROW = row({
  id: 'bigint',
  uid: 'text',
  name: 'text',
  type: 'text',
  status: typed<CampaignStatus>('text'),
  waitUntil: 'timestamptz?',
  deliveryAt: 'timestamptz?',
  startedAt: 'timestamptz?',
  finishedAt: 'timestamptz?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
});
/** What a list of campaigns shows of one, without its content. */
export type CampaignHead = RowOf<typeof CAMPAIGN_HEAD_ROW>;

const HEAD = sql`id, uid, name, type, status, wait_until AS "waitUntil", delivery_at AS "deliveryAt", started_at AS "startedAt",
  finished_at AS "finishedAt", created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Those of the campaigns that there are. */
export function campaignHeads(db: Queryable, customerId: bigint, ids: readonly bigint[]): Promise<CampaignHead[]> {
  return db.query(
    CAMPAIGN_HEAD_ROW,
    sql`SELECT ${HEAD} FROM campaign WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[]) ORDER BY id`,
    'campaigns.heads',
  );
}

/** The newest campaigns of the customer that are scheduled, under way or paused, at most `max`; the oldest first. */
export async function openCampaignHeads(db: Queryable, customerId: bigint, max: number): Promise<CampaignHead[]> {
  const heads = await db.query(
    CAMPAIGN_HEAD_ROW,
    sql`SELECT ${HEAD} FROM campaign
         WHERE customer_id = ${customerId} AND status IN ('scheduled', 'queued', 'sending', 'paused') ORDER BY id DESC LIMIT ${max}`,
  );
  return heads.toReversed();
}
