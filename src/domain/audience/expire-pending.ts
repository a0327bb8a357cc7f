/**
 * Those who never clicked their confirmation link become `unconfirmed` when it has run out (decision D17). Who had
 * unsubscribed before is `unsubscribed` again: that anybody asked, and nobody answered, takes nothing back.
 */
import type { Context } from '../context.ts';
import { expireSlice, pendingDue } from './pending-store.ts';

/** People of a statement: half a second of work, in which their list's counters are locked. */
const PEOPLE_AT_ONCE = 5_000;

/** Expires what is due, whatever list it is on; answers how many that were. Each slice is done when it has committed. */
export async function expirePending(ctx: Context): Promise<number> {
  let expired = 0;
  for (const due of await pendingDue(ctx.db, PEOPLE_AT_ONCE)) expired += await expireSlice(ctx.db, due);
  if (expired > 0) ctx.log.info('audience.pending_expired', { expired });
  return expired;
}
