/**
 * People who never clicked their confirmation link become `unconfirmed` when it has expired (decision D17). A person who had
 * unsubscribed before is `unsubscribed` again: an unanswered request changes nothing.
 */
import type { Context } from '../context.ts';
import { expireSlice, pendingDue } from './pending-store.ts';

/** People per statement: half a second of work, in which their list's counters are locked. */
const PEOPLE_AT_ONCE = 5_000;

/** Expires what is due on all lists; returns how many. Each slice is done when it has committed. */
export async function expirePending(ctx: Context): Promise<number> {
  let expired = 0;
  for (const due of await pendingDue(ctx.db, PEOPLE_AT_ONCE)) expired += await expireSlice(ctx.db, due);
  if (expired > 0) ctx.log.info('audience.pending_expired', { expired });
  return expired;
}
