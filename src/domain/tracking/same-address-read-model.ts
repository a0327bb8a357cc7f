/**
 * A person who was deleted from a list and added again has another row, and the links of earlier mails name the old one. The
 * ledger knows the address of those mails: such a link can still unsubscribe.
 */
import type { Context } from '../context.ts';
import { sql } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import { CAMPAIGN, campaignOfSource } from '../statistics/source-read-model.ts';
import type { TrackedRecipient } from './tracking.ts';

/** Campaigns that are searched for the address, the link's own first. In a list with more, everybody has rows in one of these. */
const CAMPAIGNS_MAX = 1_000;

/**
 * The subscriber of the link's list with the address of its mail; undefined: none, or the address is not known (the ledger has no
 * address of an erased person).
 */
export async function sameAddressNow(
  { db }: Pick<Context, 'db'>,
  recipient: TrackedRecipient,
): Promise<TrackedRecipient | undefined> {
  const { customerId, listId, recipientId } = recipient;
  const campaignId = campaignOfSource(recipient)?.campaignId ?? null;
  const [sent] = await db.query(
    { email: 'text' },
    sql`SELECT d.email FROM (
          SELECT id, snapshot_on FROM campaign WHERE customer_id = ${customerId} AND list_id = ${listId} AND snapshot_on IS NOT NULL
           ORDER BY (id = ${campaignId}) DESC NULLS LAST, id DESC LIMIT ${CAMPAIGNS_MAX}) c
         CROSS JOIN LATERAL (
          SELECT email FROM hot.delivery l
           WHERE l.customer_id = ${customerId} AND l.source_kind = ${CAMPAIGN} AND l.source_id = c.id AND l.recipient_id = ${recipientId} AND l.snapshot_on = c.snapshot_on
          OFFSET 0) d
         LIMIT 1`,
    'tracking.address-of-mail',
  );
  if (!sent) return undefined;
  const [now] = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM subscriber WHERE customer_id = ${customerId} AND email_key = ${emailKey(sent.email)} AND list_id = ${listId}`,
    'tracking.same-address',
  );
  return now && { ...recipient, recipientId: now.id };
}
