/**
 * Finds what leads to a person's rows: the ledger's keys, campaign by campaign. A ledger has no index on addresses, so
 * whoever left a list or changed its address is found by a table of former addresses (decision record 0069).
 */
import { sql, type Queryable } from '../../../db/database.ts';
import { spellingsOf, type DeliveryKey, type Somebody } from './personal-places.ts';

type KnownPerson = Pick<Somebody, 'customerIds' | 'emailKey' | 'subscriberIds'>;

/** The person with everybody who once had the address, and the keys of all their deliveries. */
export async function findPerson(db: Queryable, known: KnownPerson): Promise<Somebody> {
  const spellings = spellingsOf(known.emailKey);
  const customerIds = [...known.customerIds];
  const former = await db.query<{ id: bigint }>(sql`
    SELECT DISTINCT subscriber_id AS id FROM hot.former_address
     WHERE address_hash = ANY (SELECT hashtextextended(a, 0) FROM unnest(${spellings}::text[]) a)
       AND customer_id = ANY (${customerIds}::bigint[])`);
  const present = new Set(known.subscriberIds);
  const formerIds = former.map(({ id }) => id).filter((id) => !present.has(id));
  const deliveries = await db.query<DeliveryKey & Record<string, unknown>>(sql`
    SELECT c.customer_id AS "customerId", c.id AS "campaignId", i.id AS "subscriberId", c.snapshot_on::text AS "snapshotOn"
      FROM campaign c
     CROSS JOIN (SELECT id, false AS is_former FROM unnest(${[...present]}::bigint[]) AS p (id)
                 UNION ALL SELECT id, true FROM unnest(${formerIds}::bigint[]) AS f (id)) i
     WHERE c.customer_id = ANY (${customerIds}::bigint[]) AND c.snapshot_on IS NOT NULL AND (EXISTS (
       SELECT 1 FROM hot.delivery d
        WHERE d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.campaign_id = c.id AND d.subscriber_id = i.id
          AND (NOT i.is_former OR lower(d.email) = ANY (${spellings}::text[]))
       -- Keeps it a look-up by key: as a join it would read every recipient of every campaign.
       OFFSET 0) OR (NOT i.is_former AND EXISTS (
       -- Of a ledger that is kept for fewer months than what came back.
       SELECT 1 FROM hot.recipient_activity a
        WHERE a.customer_id = c.customer_id AND a.campaign_id = c.id AND a.subscriber_id = i.id OFFSET 0)))`);
  return { ...known, formerIds, deliveries };
}
