/** Webhooks of a customer: one with a delivery that failed, and one that nodes of automations fire. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { sealWebhookSecret } from '../../src/domain/webhooks/webhook-secret.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { RestApp } from './rest-app.ts';

export interface WebhookUids {
  readonly webhookUid: string;
  readonly webhookDeliveryUid: string;
}

/** Nodes of the customer's automations fire it. */
export async function insertAutomationWebhook({ db, installation }: Context, customerId: bigint): Promise<void> {
  const uid = newUid();
  const secret = sealWebhookSecret(installation.secret, uid, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
  await db.execute(
    sql`INSERT INTO webhook (customer_id, uid, name, event, url, receiver, sealed_secret)
        VALUES (${customerId}, ${uid}, 'Flows', 'automation_webhook', 'http://127.0.0.1:1/', 'http://127.0.0.1:1', ${secret})`,
  );
}

export async function insertWebhook({ ctx }: RestApp, customerId: bigint): Promise<WebhookUids> {
  const webhookUid = newUid();
  const secret = sealWebhookSecret(ctx.installation.secret, webhookUid, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
  const [delivery] = await queryRows<{ uid: string }>(
    ctx.db,
    sql`WITH w AS (
          INSERT INTO webhook (customer_id, uid, name, kind, event, url, receiver, sealed_secret)
          VALUES (${customerId}, ${webhookUid}, 'Webhook', 'tracking', 'click', 'http://127.0.0.1:1/', 'http://127.0.0.1:1', ${secret})
          RETURNING customer_id, id
        )
        INSERT INTO hot.webhook_delivery (made_on, customer_id, webhook_id, event, source_key, payload, state)
        SELECT current_date, customer_id, id, 'click', 'world', convert_to('{"event":"click"}', 'UTF8'), 'failed' FROM w
        RETURNING uid`,
  );
  return { webhookUid, webhookDeliveryUid: delivery?.uid ?? '' };
}

/** Right values for rows about webhooks. */
export function webhookValues(path: string): Readonly<Record<string, unknown>> {
  if (!path.startsWith('/webhooks')) return {};
  return {
    ...{
      event: 'click',
      kind: 'tracking',
      url: 'https://receiver.example/',
      method: 'PUT',
      body_template: '{{ event }}',
    },
    ...{ secret: 'as long as a secret has to be', state: 'failed', headers: {} },
    ...{ from: '2020-01-31 08:00:00', to: '2040-01-31 08:00:00' },
  };
}
