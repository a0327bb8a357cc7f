/** The columns of a webhook. */
import type { Fields } from '../../db/fields.ts';
import { typed } from '../../db/row.ts';
import type { WebhookEvent, WebhookKind } from './webhook-events.ts';

/** `paused`: by Mailwright, because it failed for too long or its receiver is gone. */
export type WebhookStatus = 'active' | 'inactive' | 'paused';
/** `gone`: it answered 410. `failing`: nothing but failures for days. */
export type PauseReason = 'gone' | 'failing';
export const webhookMethods = ['POST', 'PUT', 'PATCH'] as const;
export type WebhookMethod = (typeof webhookMethods)[number];

export const webhookFields = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  name: { column: 'name', type: 'text' },
  kind: { column: 'kind', type: typed<WebhookKind>('text') },
  event: { column: 'event', type: typed<WebhookEvent>('text') },
  listId: { column: 'list_id', type: 'bigint?' },
  campaignId: { column: 'campaign_id', type: 'bigint?' },
  templateId: { column: 'template_id', type: 'bigint?' },
  withMachines: { column: 'with_machines', type: 'bool' },
  url: { column: 'url', type: 'text' },
  receiver: { column: 'receiver', type: 'text' },
  method: { column: 'method', type: typed<WebhookMethod>('text') },
  headers: { column: 'headers', type: typed<Readonly<Record<string, string>>>('json') },
  bodyTemplate: { column: 'body_template', type: 'text?' },
  sealedSecret: { column: 'sealed_secret', type: 'bytea' },
  sealedPreviousSecret: { column: 'sealed_previous_secret', type: 'bytea?' },
  previousSecretEndsAt: { column: 'previous_secret_ends_at', type: 'timestamptz?' },
  retryTimes: { column: 'retry_times', type: 'int' },
  retryAfterSeconds: { column: 'retry_after_seconds', type: 'int' },
  retrySecondsMax: { column: 'retry_seconds_max', type: 'int' },
  status: { column: 'status', type: typed<WebhookStatus>('text') },
  pauseReason: { column: 'pause_reason', type: typed<PauseReason>('text?') },
  pausedAt: { column: 'paused_at', type: 'timestamptz?' },
  failingSince: { column: 'failing_since', type: 'timestamptz?' },
} satisfies Fields;

export const webhookColumns = { ...webhookFields, id: { column: 'id', type: 'bigint' } } satisfies Fields;
