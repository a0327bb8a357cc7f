/** Statements for the bits of who received a campaign (refresh-received.ts). */
import { sql, row, type Queryable, type Transaction, type RowOf } from '../../../db/database.ts';
import { CAMPAIGN } from '../../statistics/source-read-model.ts';

const SENT_CAMPAIGN_ROW = row({
  customerId: 'bigint',
  campaignId: 'bigint',
  snapshotOn: 'text',
});
export type SentCampaign = RowOf<typeof SENT_CAMPAIGN_ROW>;

/** Campaigns with so many accepted messages whose bits are missing or old. */
export function campaignsWithoutBits(db: Queryable, peopleMin: number): Promise<SentCampaign[]> {
  return db.query(
    SENT_CAMPAIGN_ROW,
    sql`
    SELECT n.customer_id AS "customerId", n.source_id AS "campaignId", c.snapshot_on::text AS "snapshotOn"
      FROM hot.delivery_counter n
      JOIN campaign c ON c.customer_id = n.customer_id AND c.id = n.source_id
      LEFT JOIN hot.received_campaign r ON r.customer_id = n.customer_id AND r.campaign_id = n.source_id
     WHERE n.source_kind = ${CAMPAIGN} AND n.sent >= ${peopleMin} AND r.counted IS DISTINCT FROM n.sent
       AND c.snapshot_on IS NOT NULL AND c.status NOT IN ('queued', 'sending')
     ORDER BY c.started_at DESC, c.id DESC`,
  );
}

/** The counter, the ledger and the written rows are of one moment: the last statement reads and writes all of it. */
export async function makeBits(tx: Transaction, { customerId, campaignId, snapshotOn }: SentCampaign): Promise<void> {
  // Two processes at the same time: the second waits, and finds the rows of the first.
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`mailwright:received:${campaignId}`}, 0))`);
  await tx.execute(
    sql`DELETE FROM hot.received_block WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
  await tx.execute(sql`
    WITH word AS (
      SELECT recipient_id >> 6 AS no, bit_or(1::bigint << (63 - (recipient_id & 63))::integer) AS bits, count(*) AS people
        FROM hot.delivery
       WHERE snapshot_on = ${snapshotOn}::date AND customer_id = ${customerId} AND source_kind = ${CAMPAIGN} AND source_id = ${campaignId} AND state = 'sent'
       GROUP BY 1
    ), kept AS (
      INSERT INTO hot.received_block (customer_id, campaign_id, block, members)
      SELECT ${customerId}::bigint, ${campaignId}::bigint, no >> 5, bit_or(hot.word_bits(no, bits)) FROM word GROUP BY 3
    )
    INSERT INTO hot.received_campaign AS r (customer_id, campaign_id, people, counted)
    SELECT n.customer_id, n.source_id, (SELECT coalesce(sum(people), 0) FROM word), n.sent
      FROM hot.delivery_counter n WHERE n.customer_id = ${customerId} AND n.source_kind = ${CAMPAIGN} AND n.source_id = ${campaignId}
    ON CONFLICT (customer_id, campaign_id) DO UPDATE SET people = excluded.people, counted = excluded.counted`);
}
