/**
 * Unsubscribes the person behind a signed link. That it happened because of a campaign is counted once per recipient;
 * that the person wants no more mail holds whatever became of the campaign.
 */
import { inTransaction, type Context } from '../context.ts';
import { unsubscribePerson } from '../audience/unsubscribe-subscriber.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { withPartitions } from './partitions.ts';
import { countUnsubscribe, type Unsubscribe } from './unsubscribe-store.ts';

/** Unsubscribes at once; repeating it changes nothing. False when the person is no longer on the list. */
export function recordUnsubscribe(ctx: Context, unsubscribe: Unsubscribe): Promise<boolean> {
  return withPartitions(ctx, () => record(ctx, unsubscribe));
}

async function record(ctx: Context, unsubscribe: Unsubscribe): Promise<boolean> {
  const { customerId, listId, recipientId } = unsubscribe.recipient;
  return inTransaction(ctx, async (inner) => {
    // The source's counter before the person: the order in which opens and clicks take the same locks.
    if (await countUnsubscribe(inner.db, unsubscribe)) {
      inner.tx.afterCommit(() => announceSourceChange(ctx, unsubscribe.recipient));
    }
    const outcome = await unsubscribePerson(inner, { customerId, listId, id: recipientId }, unsubscribe.source);
    return outcome !== undefined;
  });
}
