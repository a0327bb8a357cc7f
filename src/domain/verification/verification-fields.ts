/** The columns of a verification. */
import { typed } from '../../db/row.ts';
import type { Fields } from '../../db/fields.ts';

/** `queued` → `running` ⇄ `paused`, → `done`; from each of the first three to `cancelled`. */
export const verificationStatuses = ['queued', 'running', 'paused', 'done', 'cancelled'] as const;
export type VerificationStatus = (typeof verificationStatuses)[number];

/** What is done with addresses that are found undeliverable. */
export const whenUndeliverable = ['keep', 'suppress'] as const;
export type WhenUndeliverable = (typeof whenUndeliverable)[number];

/** What is written when it is made. */
export const newVerificationFields = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  listId: { column: 'list_id', type: 'bigint' },
  serverUid: { column: 'server_uid', type: 'text' },
  serverName: { column: 'server_name', type: 'text' },
  importUid: { column: 'import_uid', type: 'text?' },
  olderThanDays: { column: 'older_than_days', type: 'int?' },
  /** Undeliverable addresses are suppressed. */
  suppresses: { column: 'suppresses', type: 'bool' },
  afterId: { column: 'after_id', type: 'bigint' },
} satisfies Fields;

export const verificationColumns = {
  ...newVerificationFields,
  id: { column: 'id', type: 'bigint' },
  status: { column: 'status', type: typed<VerificationStatus>('text') },
  total: { column: 'total', type: 'int?' },
  failures: { column: 'failures', type: 'int' },
  startedAt: { column: 'started_at', type: 'timestamptz?' },
} satisfies Fields;
