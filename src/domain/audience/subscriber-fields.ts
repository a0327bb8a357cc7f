/** The columns of a subscriber; the list's own fields are keys of one of them. */
import { typed } from '../../db/row.ts';
import type { Fields } from '../../db/fields.ts';

export const SUBSCRIBER_STATUSES = ['subscribed', 'unsubscribed', 'unconfirmed', 'pending'] as const;
export type SubscriberStatus = (typeof SUBSCRIBER_STATUSES)[number];

/** The columns that verbs write of a person. */
export const subscriberFields = {
  email: { column: 'email', type: 'text' },
  emailKey: { column: 'email_key', type: 'text' },
  status: { column: 'status', type: typed<SubscriberStatus>('text') },
  /** Values by tag. */
  fields: { column: 'fields', type: typed<Readonly<Record<string, string>>>('json') },
  tags: { column: 'tags', type: 'text[]' },
  pendingUntil: { column: 'pending_until', type: 'timestamptz?' },
} satisfies Fields;
export const newSubscriberFields = {
  customerId: { column: 'customer_id', type: 'bigint' },
  listId: { column: 'list_id', type: 'bigint' },
  source: { column: 'source', type: 'text?' },
  ipAddress: { column: 'ip_address', type: 'text?' },
  ...subscriberFields,
} satisfies Fields;
const { emailKey: _, ...shown } = newSubscriberFields;
export const subscriberColumns = {
  id: { column: 'id', type: 'bigint' },
  ...shown,
  createdAt: { column: 'created_at', type: 'timestamptz' },
  updatedAt: { column: 'updated_at', type: 'timestamptz' },
} satisfies Fields;
