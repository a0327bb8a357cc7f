/** By which rules a transactional mail waits, and how many may. */
import type { Queryable } from '../../../db/database.ts';
import { PRIORITIES, type MessageKind, type Priority } from '../../messages/message.ts';
import { countWaiting } from './recipients-read-model.ts';
import { tooManyWait } from './transactional-errors.ts';
import { WAITING_MAX } from './transactional.ts';

/** Mails for which nobody waits take credits and keep to the pace of the server and to quiet hours, as those of flows do. */
export function priorityOf(kind: MessageKind = 'transactional'): Priority {
  return kind === 'transactional' || kind === 'security' ? PRIORITIES.transactional : PRIORITIES.flow;
}

/** Throws RateLimitedError `TOO_MANY_WAITING` when too many of the customer's mails with this priority wait. */
export async function refuseTooManyWaiting(db: Queryable, customerId: bigint, priority: Priority): Promise<void> {
  if ((await countWaiting(db, { customerId, priority, max: WAITING_MAX })) >= WAITING_MAX) throw tooManyWait();
}
