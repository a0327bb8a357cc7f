/**
 * Unsubscribes the recipient of a message whose unsubscribe address (List-Unsubscribe) got a mail. The address is proof enough, as a
 * link is: only we can make it, and it stands in that message only.
 */
import type { Context } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { recordUnsubscribeOfReader } from './record-unsubscribe.ts';
import type { ReportOutcome } from './report-on-delivery.ts';
import type { Visitor } from './tracking.ts';
import { listOfRecipient } from './unsubscribe-store.ts';

/** What a mail tells of its sender can be forged, and is not kept. */
const BY_MAIL: Visitor = { ip: null, userAgent: null, isMachine: false, looksAhead: false };

/** Unsubscribes at once, as the link does; repeating it changes nothing. */
export async function unsubscribeByMail(ctx: Context, key: DeliveryKey): Promise<ReportOutcome> {
  const listId = await listOfRecipient(ctx.db, key);
  if (listId === null) return 'not found';
  const unsubscribe = { recipient: { ...key, listId }, visitor: BY_MAIL, source: 'mail', reason: null } as const;
  return (await recordUnsubscribeOfReader(ctx, unsubscribe)) !== undefined ? 'recorded' : 'not found';
}
