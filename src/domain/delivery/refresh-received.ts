/**
 * Keeps who received a campaign as bits (hot.received_block, decision record 0071), which segments read instead of the
 * ledger. Made after the campaign was sent, so that sending costs nothing more; made again when the ledger says `sent` of
 * further people. Segments look at the counter themselves: until this has run they read the ledger.
 */
import { sql, type Transaction } from '../../db/database.ts';
import type { Context } from '../context.ts';
import { messageOf } from '../../lib/errors.ts';
import { workWithin } from '../../lib/work-within.ts';

/** Smaller campaigns are read from the ledger as fast. */
const PEOPLE_MIN = 5_000;
/** The rest follows a minute later: no job should hold its place for long. A campaign of 600,000 takes half a second. */
const SECONDS_MAX = 30;

interface Campaign extends Record<string, unknown> {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly plannedOn: string;
}

/** Makes the bits of all campaigns that need it and are not under way; answers how many were made. */
export async function refreshReceived(
  ctx: Pick<Context, 'database' | 'log'>,
  { peopleMin = PEOPLE_MIN } = {},
): Promise<number> {
  const due = await ctx.database.query<Campaign>(sql`
    SELECT n.customer_id AS "customerId", n.campaign_id AS "campaignId", c.planned_on::text AS "plannedOn"
      FROM hot.delivery_counter n
      JOIN campaign c ON c.customer_id = n.customer_id AND c.id = n.campaign_id
      LEFT JOIN hot.received_campaign r ON r.customer_id = n.customer_id AND r.campaign_id = n.campaign_id
     WHERE n.sent >= ${peopleMin} AND r.counted IS DISTINCT FROM n.sent
       AND c.planned_on IS NOT NULL AND c.status NOT IN ('queued', 'sending')
     ORDER BY c.started_at DESC, c.id DESC`);
  const made = await workWithin(SECONDS_MAX * 1_000, due, {
    work: (campaign) => ctx.database.transaction((tx) => makeBits(tx, campaign)),
    failed: ({ campaignId }, error) => ctx.log.warn('received.failed', { campaignId, message: messageOf(error) }),
  });
  if (made > 0) ctx.log.info('received.kept', { campaigns: made, left: due.length - made });
  return made;
}

/** The counter, the ledger and what is written are of one moment: the last statement reads and writes all of it. */
async function makeBits(tx: Transaction, { customerId, campaignId, plannedOn }: Campaign): Promise<void> {
  // Two clocks of two processes: the second waits, and finds the rows of the first.
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`mailwright:received:${campaignId}`}, 0))`);
  await tx.execute(
    sql`DELETE FROM hot.received_block WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
  await tx.execute(sql`
    WITH word AS (
      SELECT subscriber_id >> 6 AS no, bit_or(1::bigint << (63 - (subscriber_id & 63))::integer) AS bits, count(*) AS people
        FROM hot.delivery
       WHERE planned_on = ${plannedOn}::date AND customer_id = ${customerId} AND campaign_id = ${campaignId} AND state = 'sent'
       GROUP BY 1
    ), kept AS (
      INSERT INTO hot.received_block (customer_id, campaign_id, block, members)
      SELECT ${customerId}::bigint, ${campaignId}::bigint, no >> 5, bit_or(hot.word_bits(no, bits)) FROM word GROUP BY 3
    )
    INSERT INTO hot.received_campaign AS r (customer_id, campaign_id, people, counted)
    SELECT n.customer_id, n.campaign_id, (SELECT coalesce(sum(people), 0) FROM word), n.sent
      FROM hot.delivery_counter n WHERE n.customer_id = ${customerId} AND n.campaign_id = ${campaignId}
    ON CONFLICT (customer_id, campaign_id) DO UPDATE SET people = excluded.people, counted = excluded.counted`);
}
