/**
 * Unsubscribes the recipient of a message who was at no page of ours: the message's unsubscribe address (List-Unsubscribe) got a mail, or
 * the vendor that sent the message reports it.
 */
import type { Context } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { recordUnsubscribeOfReader } from './record-unsubscribe.ts';
import { reportOnDelivery, type ReportOutcome } from './report-on-delivery.ts';
import type { Visitor } from './tracking.ts';
import { listOfRecipient } from './unsubscribe-store.ts';

/** What a mail tells of its sender can be forged, and is not kept. A vendor tells of an address that may be its own. */
const NO_VISITOR: Visitor = { ip: null, userAgent: null, isMachine: false, looksAhead: false };

/**
 * Unsubscribes at once, as the link does; repeating it changes nothing. The address is proof enough, as a link is: only we can make it, and it
 * stands in that message only.
 */
export function unsubscribeByMail(ctx: Context, key: DeliveryKey): Promise<ReportOutcome> {
  return unsubscribe(ctx, key, 'mail');
}

/**
 * The same for a report that is proved to be the vendor's. Whoever unsubscribed has the message: an unknown outcome is resolved. No age and no state
 * of the message keeps the person from unsubscribing.
 */
export async function unsubscribeByVendor(ctx: Context, key: DeliveryKey): Promise<ReportOutcome> {
  await reportOnDelivery(ctx, key, { kind: 'arrived' });
  return unsubscribe(ctx, key, 'vendor');
}

async function unsubscribe(ctx: Context, key: DeliveryKey, source: 'mail' | 'vendor'): Promise<ReportOutcome> {
  const listId = await listOfRecipient(ctx.db, key);
  if (listId === null) return 'not found';
  const given = { recipient: { ...key, listId }, visitor: NO_VISITOR, source, reason: null } as const;
  return (await recordUnsubscribeOfReader(ctx, given)) !== undefined ? 'recorded' : 'not found';
}
