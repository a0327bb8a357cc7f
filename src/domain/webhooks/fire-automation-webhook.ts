/** Tells the webhooks `automation_webhook` that people came to a node of a flow. */
import type { Queryable } from '../../db/database.ts';
import { newUid, subscriberUid } from '../../lib/ids.ts';
import { addDeliveries } from './delivery-store.ts';
import type { PayloadOf } from './webhook-events.ts';
import { listeningWebhooks, nextSequence } from './webhook-store.ts';

/** A person at an API-call node or a webhook node. */
export interface AutomationCall {
  readonly automationId: bigint;
  readonly personId: bigint;
}

/**
 * Makes the deliveries, with one statement for all and in the transaction `db`: they exist exactly when the step does. Without a
 * webhook that listens nothing is written.
 */
export async function fireAutomationWebhook(db: Queryable, calls: readonly AutomationCall[]): Promise<void> {
  if (calls.length === 0) return;
  const webhooks = await listeningWebhooks(db, ['automation_webhook']);
  if (webhooks.length === 0) return;
  const { first, now } = await nextSequence(db, calls.length);
  const at = now.toISOString();
  const deliveries = calls.map(({ automationId, personId }, index) => {
    const payload: PayloadOf<'automation_webhook'> = {
      event: 'automation_webhook',
      automation_id: Number(automationId),
      subscriber_uid: subscriberUid(personId),
      ...{ fired_at: at, occurred_at: at, sequence: Number(first) + index },
    };
    // A uid leads to nobody when the person's row is gone.
    return { personId: null, happenedAt: now, payload: JSON.stringify(payload), sourceKey: `call ${newUid()}` };
  });
  await addDeliveries(
    db,
    webhooks.flatMap((webhook) => deliveries.map((one) => ({ ...one, webhook, event: 'automation_webhook' }))),
  );
}
