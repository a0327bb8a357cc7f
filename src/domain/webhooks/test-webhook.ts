/** Tests a webhook for an administrator: sends the example of its event at once, and once. */
import { takeFromWindows } from '../../db/rate-windows.ts';
import { newUid } from '../../lib/ids.ts';
import { endChecks, viewerOf, type Context } from '../context.ts';
import { attemptDelivery } from './attempt-delivery.ts';
import { insertTest } from './delivery-store.ts';
import { findWebhook } from './find-webhook.ts';
import { ReceiverConnections } from './receiver-connections.ts';
import { tooManyWebhookTests } from './webhook-errors.ts';
import { WEBHOOK_EVENTS } from './webhook-events.ts';
import type { LoggedDelivery } from './webhook-log-read-model.ts';
import { oneDelivery } from './webhook-log.ts';

/** Each asks somebody else's server: enough for a person who sets it up. */
export const WEBHOOK_TESTS_PER_HOUR_MAX = 60;
const HOUR_SECONDS = 3_600;

/**
 * The delivery, which is in the log with its request and answer. A failed test is an answer. Its request has the header
 * `X-Service-Test`. Throws RateLimitedError `TOO_MANY_TESTS`, NotFoundError, ForbiddenError.
 */
export async function testWebhook(ctx: Context, { uid }: { uid: string }): Promise<LoggedDelivery> {
  const webhook = await findWebhook(ctx, uid);
  endChecks(ctx);
  const { refusedBy } = await takeFromWindows(ctx.db, [
    { key: `webhook-tests:${viewerOf(ctx).customerId}`, max: WEBHOOK_TESTS_PER_HOUR_MAX, seconds: HOUR_SECONDS },
  ]);
  if (refusedBy) throw tooManyWebhookTests(WEBHOOK_TESTS_PER_HOUR_MAX, refusedBy.endsInSeconds);
  const payload = JSON.stringify(WEBHOOK_EVENTS[webhook.event].example);
  const isRotating = webhook.previousSecretEndsAt !== null && webhook.previousSecretEndsAt > ctx.clock.now();
  const delivery = {
    ...webhook,
    ...{ uid: newUid(), webhookUid: uid, payload: Buffer.from(payload), body: null },
    ...{ attempts: 0, attemptsBefore: 0, isTest: true },
    sealedPreviousSecret: isRotating ? webhook.sealedPreviousSecret : null,
  };
  const connections = new ReceiverConnections(ctx.installation);
  try {
    const attempt = await attemptDelivery(ctx, connections, delivery);
    await insertTest(ctx.db, { webhook, event: webhook.event, payload, uid: delivery.uid, attempt });
  } finally {
    connections.close();
  }
  return oneDelivery(ctx, webhook, delivery.uid);
}
