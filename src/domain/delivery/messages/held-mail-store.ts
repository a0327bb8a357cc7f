/** Mails that quiet hours or a frequency cap hold back are looked at again, since these were changed: what holds them still, holds them anew. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import type { ChangedHolding } from '../../accounts/enqueue-held-mails.ts';
import { PRIORITIES } from '../../messages/message.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import type { LedgerKey } from '../ledger/delivery.ts';
import { inLedger } from '../ledger/ledger-read-model.ts';
import { MESSAGES_CHANNEL, WITH_LEDGER } from '../flow-mails/resumed-mail-store.ts';
import { SEND_TIME_REASON } from '../campaigns/send-time-store.ts';

const HELD: readonly DeliveryReason[] = ['frequency_cap', 'quiet_hours'];

const FREED_ROW = row({ id: 'bigint' });

interface HeldRecipients {
  /** Only those with a higher id. */
  readonly afterId: bigint;
  readonly max: number;
  /** Also those for whom the plan of the campaign has found a later time. */
  readonly withSendTimes: boolean;
}

/** Makes the next `max` held recipients of a campaign due, in order of their ids, and returns them. */
export function freeHeldRecipients(
  db: Queryable,
  key: LedgerKey,
  { afterId, max, withSendTimes }: HeldRecipients,
): Promise<{ id: bigint }[]> {
  const reasons = withSendTimes ? [...HELD, SEND_TIME_REASON] : HELD;
  return db.query(
    FREED_ROW,
    sql`WITH held AS MATERIALIZED (
          SELECT d.recipient_id, d.occurrence, d.not_before, d.reason FROM hot.delivery d
           WHERE ${inLedger(key)} AND d.recipient_id > ${afterId} AND d.state = 'queued' AND d.not_before > now() AND d.reason = ANY (${[...reasons]}::text[])
           ORDER BY d.recipient_id LIMIT ${max} FOR NO KEY UPDATE SKIP LOCKED
        ), freed AS (
          UPDATE hot.delivery d SET not_before = now(), updated_at = now() FROM held h
           WHERE ${inLedger(key)} AND d.recipient_id = h.recipient_id AND d.occurrence = h.occurrence
        ), fewer AS (
          UPDATE hot.campaign_send_time w SET people = w.people - t.people
            FROM (SELECT not_before, count(*)::int AS people FROM held WHERE reason = ${SEND_TIME_REASON} GROUP BY 1) t
           WHERE w.customer_id = ${key.customerId} AND w.campaign_id = ${key.sourceId} AND w.at = t.not_before
        )
        SELECT recipient_id AS id FROM held ORDER BY 1`,
    'delivery.free_held',
  );
}

interface HeldMessages extends ChangedHolding {
  readonly max: number;
}

/** Makes the next `max` held messages to people of the list due, those of flows and those that go as they do; returns how many. */
export async function freeHeldMessages(db: Queryable, { customerId, listId, max }: HeldMessages): Promise<number> {
  const freed = await db.execute(
    sql`WITH held AS MATERIALIZED (
          SELECT q.message_id FROM hot.message_queue q ${WITH_LEDGER}
           WHERE q.priority = ${PRIORITIES.flow} AND q.customer_id = ${customerId} AND q.not_before > now() AND q.owner IS NULL
             AND d.state = 'queued' AND d.reason = ANY (${[...HELD]}::text[]) AND (${listId}::bigint IS NULL OR m.list_id = ${listId})
           ORDER BY q.message_id LIMIT ${max} FOR UPDATE OF q SKIP LOCKED
        )
        UPDATE hot.message_queue q SET not_before = now() FROM held h WHERE q.message_id = h.message_id`,
    'delivery.free_held_messages',
  );
  if (freed > 0) await notify(db, MESSAGES_CHANNEL, '');
  return freed;
}
