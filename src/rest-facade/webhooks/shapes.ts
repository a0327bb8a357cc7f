/** What the rows of webhooks answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

const headersShape = z.record(z.string(), z.unknown());

export const webhookShape = z
  .strictObject({
    uid: uidShape,
    name: z.string(),
    kind: z.string().meta({ description: '`lifecycle`, `tracking`, `subscriber`, `campaign`.' }),
    event: z.string(),
    list_uid: uidShape.nullable(),
    campaign_uid: uidShape.nullable(),
    template_uid: uidShape.nullable(),
    with_machines: z.boolean().meta({ description: 'Opens and clicks by programs count, too.' }),
    url: z.string(),
    method: z.string(),
    headers: headersShape,
    body_template: z.string().nullable(),
    retry_times: countShape,
    retry_after_seconds: countShape,
    retry_seconds_max: countShape.meta({ description: 'The longest time between two attempts.' }),
    status: z.string(),
    pause_reason: z.string().nullable(),
    paused_at: timeShape.nullable(),
    failing_since: timeShape.nullable().meta({ description: 'Every attempt has failed since then.' }),
    previous_secret_ends_at: timeShape
      .nullable()
      .meta({ description: 'Until then the secret before the present one signs, too.' }),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'Webhook' });

const attemptShape = z
  .strictObject({
    attempt: countShape,
    at: timeShape,
    request: z.strictObject({ method: z.string(), url: z.string(), headers: headersShape }),
    status: z.int().nullable().meta({ description: 'Of the answer; null: there was none.' }),
    duration_ms: countShape,
    answer: z.string().nullable().meta({ description: 'The first 4 KiB of the answer’s body.' }),
    error: z.string().nullable(),
    next_attempt_at: timeShape.nullable(),
  })
  .meta({ id: 'WebhookAttempt' });

export const webhookDeliveryShape = z
  .strictObject({
    uid: uidShape.meta({ description: 'The header `X-Service-Delivery`.' }),
    event: z.string(),
    state: z.string(),
    is_test: z.boolean(),
    body: z.string(),
    attempt_count: countShape,
    attempts: z.array(attemptShape),
    created_at: timeShape,
    next_attempt_at: timeShape.nullable(),
    finished_at: timeShape.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

export const webhookEventsShape = z.strictObject({
  events: z.array(
    z
      .strictObject({
        event: z.string(),
        kind: z.string(),
        description: z.string(),
        schema: z.record(z.string(), z.unknown()).meta({ description: 'The JSON Schema of the payload.' }),
        example: z.record(z.string(), z.unknown()),
      })
      .meta({ id: 'WebhookEvent' }),
  ),
});
export const oneWebhookShape = z.strictObject({ webhook: webhookShape });
export const webhookActionShape = actionShape({ webhook_uid: uidShape, webhook: webhookShape });
export const webhookSecretShape = actionShape({
  webhook_uid: uidShape,
  secret: z.string().meta({ description: 'The key of the signatures: answered only now.' }),
  webhook: webhookShape,
});
export const webhookDeletedShape = actionShape({ webhook_uid: uidShape });
export const webhookDeliveryActionShape = actionShape({ webhook_uid: uidShape, delivery: webhookDeliveryShape });
export const webhookResentShape = actionShape({
  webhook_uid: uidShape,
  count: countShape,
  are_more: z.boolean().meta({ description: 'There are more: call again with `after`.' }),
  last_uid: uidShape.nullable().meta({ description: 'For `after` of the next call; null: there was none.' }),
});
