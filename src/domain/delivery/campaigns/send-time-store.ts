/**
 * The later send times of a campaign: recipients with local times, or after quiet hours, wait in the ledger until theirs. Each
 * send time has one row here and one job, however many people wait for it; until then their rows are in no batch, so a million
 * people in all zones of the world make only as many jobs as there are send times.
 */
import { sql, row, type Queryable, type RowOf } from '../../../db/database.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import { CAMPAIGN } from '../../statistics/source-read-model.ts';

const SEND_TIME_ROW = row({
  campaignId: 'bigint',
  at: 'timestamptz',
  people: 'int',
});
export type SendTime = RowOf<typeof SEND_TIME_ROW>;

/** Why a row of the ledger waits for its send time. */
export const SEND_TIME_REASON: DeliveryReason = 'own_time';

/** True for a row `d` of the ledger that waits for a later send time: not yet in any batch. */
export const atLaterSendTime = sql`((d.state = 'queued' AND d.not_before > now() AND d.reason = ${SEND_TIME_REASON}) IS TRUE)`;

/** The future send times of these campaigns, the next one first. */
export async function sendTimesOf(
  db: Queryable,
  customerId: bigint,
  campaignIds: readonly bigint[],
): Promise<SendTime[]> {
  return db.query(
    SEND_TIME_ROW,
    sql`SELECT campaign_id AS "campaignId", at, people FROM hot.campaign_send_time
         WHERE customer_id = ${customerId} AND campaign_id = ANY (${[...campaignIds]}::bigint[]) AND at > now() AND people > 0
         ORDER BY campaign_id, at`,
  );
}

/** Stores a send time for no particular recipient: the end of quiet hours. `at` in whole milliseconds. */
export async function keepSendTime(db: Queryable, { customerId, campaignId }: CampaignKey, at: Date): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.campaign_send_time (customer_id, campaign_id, at, people) VALUES (${customerId}, ${campaignId}, ${at}, 0) ON CONFLICT DO NOTHING`,
  );
}

/** Deletes past send times; returns the future ones. */
export async function passSendTimes(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<Date[]> {
  await db.execute(
    sql`DELETE FROM hot.campaign_send_time WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} AND at <= now()`,
  );
  const rows = await db.query(
    { at: 'timestamptz' },
    sql`SELECT at FROM hot.campaign_send_time WHERE customer_id = ${customerId} AND campaign_id = ${campaignId} ORDER BY at`,
  );
  return rows.map(({ at }) => at);
}

/**
 * The next send time, if all open recipients wait for one: nothing is to be done until then. Null: a recipient is due or being
 * sent to, or none is open.
 */
export async function nextSendTimeIfIdle(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<Date | null> {
  const [row] = await db.query(
    { at: 'timestamptz?' },
    sql`SELECT CASE WHEN sum(w.people) >= max(c.open) THEN min(w.at) END AS at
          FROM hot.campaign_send_time w
          JOIN hot.delivery_counter c ON c.customer_id = w.customer_id AND c.source_kind = ${CAMPAIGN} AND c.source_id = w.campaign_id
         WHERE w.customer_id = ${customerId} AND w.campaign_id = ${campaignId} AND w.at > now() AND c.open > 0`,
    'delivery.next-send-time',
  );
  return row?.at ?? null;
}
