/** Follows with what waits to be sent when its webhook has changed: some at a time, so that no statement holds its locks for long. */
import { sql, type Queryable } from '../../db/database.ts';
import type { WebhookKey } from './webhook.ts';

/** Some tens of milliseconds. */
const MOVED_AT_ONCE_MAX = 1_000;

/**
 * Of a webhook that is not active, takes some of what waits out of the queue: it is kept, and can be sent again by hand. Of a deleted one it
 * drops some, of an active one it sends some to its receiver. Answers how many. What others work on is left out: a worker that takes
 * a delivery sees the webhook as it is. Locks the webhook first.
 */
export async function moveSome(tx: Queryable, key: WebhookKey): Promise<number> {
  const { customerId, id } = key;
  const [webhook] = await tx.query(
    { status: 'text', receiver: 'text' },
    sql`SELECT status, receiver FROM webhook WHERE customer_id = ${customerId} AND id = ${id} FOR NO KEY UPDATE`,
    'webhooks.lock_changed',
  );
  if (!webhook) return drop(tx, key);
  return webhook.status === 'active' ? redirect(tx, key, webhook.receiver) : park(tx, key);
}

function drop(tx: Queryable, { customerId, id }: WebhookKey): Promise<number> {
  return tx.execute(
    sql`DELETE FROM hot.webhook_queue WHERE delivery_id = ANY (ARRAY(
          SELECT delivery_id FROM hot.webhook_queue WHERE customer_id = ${customerId} AND webhook_id = ${id} LIMIT ${MOVED_AT_ONCE_MAX} FOR UPDATE SKIP LOCKED))`,
    'webhooks.drop_waiting',
  );
}

function redirect(tx: Queryable, { customerId, id }: WebhookKey, receiver: string): Promise<number> {
  return tx.execute(
    sql`UPDATE hot.webhook_queue SET receiver = ${receiver} WHERE delivery_id = ANY (ARRAY(
          SELECT delivery_id FROM hot.webhook_queue
           WHERE customer_id = ${customerId} AND webhook_id = ${id} AND receiver <> ${receiver} LIMIT ${MOVED_AT_ONCE_MAX} FOR UPDATE SKIP LOCKED))`,
    'webhooks.redirect_waiting',
  );
}

/** Joined with what was taken out, each would be compared with all deliveries of the webhook while the statistics are old. */
function park(tx: Queryable, { customerId, id }: WebhookKey): Promise<number> {
  return tx.execute(
    sql`WITH waiting AS (
          DELETE FROM hot.webhook_queue q WHERE q.delivery_id = ANY (ARRAY(
            SELECT w.delivery_id FROM hot.webhook_queue w
             WHERE w.customer_id = ${customerId} AND w.webhook_id = ${id} AND w.owner IS NULL LIMIT ${MOVED_AT_ONCE_MAX} FOR UPDATE SKIP LOCKED))
          RETURNING q.delivery_id, q.made_on
        )
        UPDATE hot.webhook_delivery d SET state = 'parked', next_attempt_at = NULL
         WHERE d.customer_id = ${customerId} AND d.webhook_id = ${id} AND d.id = ANY (ARRAY(SELECT w.delivery_id FROM waiting w))
           AND d.made_on = ANY (ARRAY(SELECT DISTINCT w.made_on FROM waiting w))`,
    'webhooks.park_waiting',
  );
}
