/** The columns of a subscriber; the list's own fields are keys of one of them. */
import { bigint, json, nullable, text, texts, time, word } from '../../db/fields.ts';
import type { Fields } from '../../db/fields.ts';

export const SUBSCRIBER_STATUSES = ['subscribed', 'unsubscribed', 'unconfirmed', 'pending'] as const;
export type SubscriberStatus = (typeof SUBSCRIBER_STATUSES)[number];

/** The columns that verbs write of a person. */
export const subscriberFields = {
  email: { column: 'email', type: text },
  emailKey: { column: 'email_key', type: text },
  status: { column: 'status', type: word<SubscriberStatus>() },
  /** Values by tag. */
  fields: { column: 'fields', type: json<Readonly<Record<string, string>>>() },
  tags: { column: 'tags', type: texts },
  pendingUntil: { column: 'pending_until', type: nullable(time) },
} satisfies Fields;
export const newSubscriberFields = {
  customerId: { column: 'customer_id', type: bigint },
  listId: { column: 'list_id', type: bigint },
  source: { column: 'source', type: nullable(text) },
  ipAddress: { column: 'ip_address', type: nullable(text) },
  ...subscriberFields,
} satisfies Fields;
const { emailKey: _, ...shown } = newSubscriberFields;
export const subscriberColumns = {
  id: { column: 'id', type: bigint },
  ...shown,
  createdAt: { column: 'created_at', type: time },
  updatedAt: { column: 'updated_at', type: time },
} satisfies Fields;
