/**
 * Unsubscribes the person of a signed link. It is counted for the campaign once per recipient; the person is unsubscribed even if
 * the campaign was deleted.
 */
import { inTransaction, type Context } from '../context.ts';
import { unsubscribePerson } from '../audience/unsubscribe-subscriber.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { withPartitions } from './partitions.ts';
import { sameAddressNow } from './same-address-read-model.ts';
import { countUnsubscribe, type Unsubscribe } from './unsubscribe-store.ts';

/** Unsubscribes at once; repeating it changes nothing. False when the person is no longer on the list. */
export function recordUnsubscribe(ctx: Context, unsubscribe: Unsubscribe): Promise<boolean> {
  return withPartitions(ctx, () => record(ctx, unsubscribe));
}

/** The same; a person who was deleted and added again is known by the address that the mail went to. */
export async function recordUnsubscribeOfReader(ctx: Context, unsubscribe: Unsubscribe): Promise<boolean> {
  if (await recordUnsubscribe(ctx, unsubscribe)) return true;
  const now = await sameAddressNow(ctx, unsubscribe.recipient);
  return now !== undefined && recordUnsubscribe(ctx, { ...unsubscribe, recipient: now });
}

async function record(ctx: Context, unsubscribe: Unsubscribe): Promise<boolean> {
  const { customerId, listId, recipientId } = unsubscribe.recipient;
  return inTransaction(ctx, async (inner) => {
    // The source's counter before the person: opens and clicks lock in the same order.
    if (await countUnsubscribe(inner.db, unsubscribe)) {
      inner.tx.afterCommit(() => announceSourceChange(ctx, unsubscribe.recipient));
    }
    const outcome = await unsubscribePerson(inner, { customerId, listId, id: recipientId }, unsubscribe.source);
    return outcome !== undefined;
  });
}
