/** Tells the webhooks `automation_webhook` that people came to a node of a flow. */
import type { Queryable } from '../../db/database.ts';
import { newUid, subscriberUid } from '../../lib/ids.ts';
import { ADDED_AT_ONCE_MAX, addDeliveries } from './delivery-store.ts';
import type { PayloadOf } from './webhook-events.ts';
import { listeningWebhooks, nextSequences } from './webhook-store.ts';
import type { WebhookKey } from './webhook.ts';

/** A person at an API-call node or a webhook node. */
export interface AutomationCall {
  readonly automationId: bigint;
  readonly automationUid: string;
  readonly node: string;
  readonly personId: bigint;
}

/**
 * Makes the deliveries in the transaction `db`: they exist exactly when the step does. Without a webhook that listens nothing is
 * written.
 */
export async function fireAutomationWebhook(db: Queryable, calls: readonly AutomationCall[]): Promise<void> {
  if (calls.length === 0) return;
  const webhooks = await listeningWebhooks(db, ['automation_webhook']);
  if (webhooks.length === 0) return;
  // The memory for all deliveries of all webhooks at once would have no limit.
  const piece = Math.max(1, Math.floor(ADDED_AT_ONCE_MAX / webhooks.length));
  for (let from = 0; from < calls.length; from += piece) await addCalls(db, webhooks, calls.slice(from, from + piece));
}

async function addCalls(
  db: Queryable,
  webhooks: readonly WebhookKey[],
  calls: readonly AutomationCall[],
): Promise<void> {
  const numbers = await nextSequences(db, calls.length);
  const deliveries = numbers.flatMap(({ sequence, now }, index) => {
    const call = calls[index];
    if (!call) return [];
    const at = now.toISOString();
    const payload: PayloadOf<'automation_webhook'> = {
      event: 'automation_webhook',
      automation_id: Number(call.automationId),
      automation_uid: call.automationUid,
      node: call.node,
      subscriber_uid: subscriberUid(call.personId),
      ...{ fired_at: at, occurred_at: at, sequence: Number(sequence) },
    };
    // A uid leads to nobody when the person's row is gone.
    return { personId: null, happenedAt: now, payload: JSON.stringify(payload), sourceKey: `call ${newUid()}` };
  });
  await addDeliveries(
    db,
    webhooks.flatMap((webhook) => deliveries.map((one) => ({ ...one, webhook, event: 'automation_webhook' }))),
  );
}
