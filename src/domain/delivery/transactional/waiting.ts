/** By which rules a transactional mail waits, how many may, and how much of their attachments is kept. */
import type { Queryable } from '../../../db/database.ts';
import { CONTENT_KEPT_DAYS, PRIORITIES, type MessageKind, type Priority } from '../../messages/message.ts';
import { countWaiting, keptBytes } from './recipients-read-model.ts';
import { tooManyWait, tooMuchKept } from './transactional-errors.ts';
import { KEPT_BYTES_MAX, WAITING_MAX } from './transactional.ts';

/** Mails for which nobody waits take credits and keep to the pace of the server and to quiet hours, as those of flows do. */
export function priorityOf(kind: MessageKind = 'transactional'): Priority {
  return kind === 'transactional' || kind === 'security' ? PRIORITIES.transactional : PRIORITIES.flow;
}

/** Throws RateLimitedError `TOO_MANY_WAITING` when too many of the customer's mails with this priority wait. */
export async function refuseTooManyWaiting(db: Queryable, customerId: bigint, priority: Priority): Promise<void> {
  if ((await countWaiting(db, { customerId, priority, max: WAITING_MAX })) >= WAITING_MAX) throw tooManyWait();
}

/** Throws RateLimitedError `TOO_MANY_ATTACHMENTS` when with so many bytes more the customer's attachments would be too large together. */
export async function refuseTooMuchKept(db: Queryable, customerId: bigint, bytes: number): Promise<void> {
  if (bytes > 0 && (await keptBytes(db, customerId)) + bytes > KEPT_BYTES_MAX) throw tooMuchKept(CONTENT_KEPT_DAYS);
}
