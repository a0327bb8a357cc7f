/** A mail of a flow whose outcome is unknown, as somebody has decided: its worker died, or its server never answered. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import { dateByQueue } from '../../messages/message-store.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { LedgerKey } from '../ledger/delivery.ts';
import { BY_HAND, type UnknownDecision } from '../ledger/unknown-outcome-store.ts';
import { MESSAGES_CHANNEL } from './resumed-mail-store.ts';

const DECIDED_ROW = row({ id: 'bigint' });

type MessageKey = Pick<LedgerKey, 'customerId'> & { readonly id: bigint };

/**
 * Closes the row in the ledger as sent, or lets the mail wait in the queue as a new one would, with counters. False: its outcome is known, or it is
 * to be sent again and its content was erased. A mail that is sent again keeps its place in a frequency cap. Call it in a transaction.
 */
export async function decideUnknownMail(
  db: Queryable,
  { customerId, id }: MessageKey,
  decision: UnknownDecision,
): Promise<boolean> {
  const isAccepted = decision === 'accept';
  const decided = await db.query(
    DECIDED_ROW,
    sql`WITH decided AS (
          UPDATE hot.delivery d
             SET state = ${isAccepted ? 'sent' : 'queued'}::hot.delivery_state, reason = ${BY_HAND[decision]}, owner = NULL, lease_expires_at = NULL,
                 not_before = NULL, updated_at = now(), ambiguous_since = NULL, server_id = CASE WHEN ${isAccepted}::boolean THEN d.server_id END
            -- First the message, so that all of the ledger's key is known.
            FROM (SELECT m.* FROM hot.message m
                   WHERE m.customer_id = ${customerId} AND m.id = ${id} AND m.source_kind = ${SOURCE_KINDS.automation}
                     AND (${isAccepted}::boolean OR m.content IS NOT NULL) OFFSET 0) m
           WHERE d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind AND d.source_id = m.source_id
             AND d.recipient_id = m.recipient_id AND d.occurrence = m.id AND d.state = 'unknown'
          RETURNING m.customer_id, m.source_kind, m.source_id, m.id, m.priority
        ), queued AS (
          INSERT INTO hot.message_queue (message_id, customer_id, priority, not_before)
          SELECT c.id, c.customer_id, c.priority, now() FROM decided c WHERE NOT ${isAccepted}::boolean
        ), counted AS (
          UPDATE hot.delivery_counter n
             SET unknown = n.unknown - 1, sent = n.sent + ${isAccepted ? 1 : 0}::int, audience = n.audience - ${isAccepted ? 0 : 1}::int
            FROM decided c WHERE n.customer_id = c.customer_id AND n.source_kind = c.source_kind AND n.source_id = c.source_id
        )
        SELECT id FROM decided`,
  );
  if (decided.length === 0) return false;
  if (!isAccepted) {
    // It is as old as the decision: nothing that holds mails back counts the time before.
    await dateByQueue(db, customerId, [id]);
    await notify(db, MESSAGES_CHANNEL, '');
  }
  return true;
}
