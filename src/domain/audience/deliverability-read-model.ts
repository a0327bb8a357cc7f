/**
 * Whether mail to a person can arrive (D54), by the suppression list: a mailbox that does not exist and a complaint put an address
 * there with the reason, and whoever takes it off the list may mail it again. Independent of consent.
 */
import { sql, typed, type Queryable } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import { EVERY_CUSTOMER, type SuppressionReason } from './suppression.ts';

export type Deliverability = 'ok' | 'bounced' | 'complained' | 'suppressed';

const BY_REASON: Readonly<Record<SuppressionReason, Deliverability>> = {
  bounce: 'bounced',
  complaint: 'complained',
  undeliverable: 'suppressed',
  manual: 'suppressed',
  erased: 'suppressed',
};

/** That of each address, in their order. Why the installation suppresses an address is not shown to its customers. */
export async function deliverabilityOf(
  db: Queryable,
  customerId: bigint,
  addresses: readonly string[],
): Promise<Deliverability[]> {
  const keys = addresses.map(emailKey);
  const rows = await db.query(
    { emailKey: 'text', reason: typed<SuppressionReason>('text') },
    sql`
    SELECT DISTINCT ON (email_key) email_key AS "emailKey", CASE customer_id WHEN ${EVERY_CUSTOMER} THEN 'manual' ELSE reason END AS reason
      FROM suppression
     WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND email_key = ANY (${keys}::text[])
     ORDER BY email_key, customer_id DESC`,
    'audience.deliverability',
  );
  const reasons = new Map(rows.map((row) => [row.emailKey, row.reason]));
  return keys.map((key) => {
    const reason = reasons.get(key);
    return reason === undefined ? 'ok' : BY_REASON[reason];
  });
}
