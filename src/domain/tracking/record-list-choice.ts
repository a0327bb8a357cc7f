/**
 * Does what a person chose on the page of a link: leaves lists at once, and asks by mail for those to join. Leaving the list of the
 * link is counted for its message, as the unsubscribe link does.
 */
import { inTransaction, type Context } from '../context.ts';
import { joinLists, type JoinedLists } from '../audience/join-lists.ts';
import { unsubscribeAddress } from '../audience/unsubscribe-subscriber.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { emailKey } from '../../lib/text.ts';
import { withPartitions } from './partitions.ts';
import type { TrackedRecipient, Visitor } from './tracking.ts';
import { countUnsubscribe } from './unsubscribe-store.ts';

export interface ListChoiceInput {
  readonly recipient: TrackedRecipient;
  /** Of the recipient. */
  readonly email: string;
  readonly visitor: Visitor;
  /** Ids of lists; `all`: every list of the customer. */
  readonly leave: readonly bigint[] | 'all';
  readonly join: readonly bigint[];
}

export interface RecordedChoice extends JoinedLists {
  /** Ids of lists that the address was on until now. */
  readonly left: readonly bigint[];
}

/** Repeating it leaves nothing more, and asks again. What cannot be joined does not stop leaving. */
export async function recordListChoice(ctx: Context, input: ListChoiceInput): Promise<RecordedChoice> {
  const left = input.leave.length === 0 ? [] : await withPartitions(ctx, () => leave(ctx, input));
  const { customerId, listId } = input.recipient;
  const address = { customerId, listId, email: input.email, emailKey: emailKey(input.email) };
  return { left, ...(await joinLists(ctx, { ...address, listIds: input.join })) };
}

async function leave(ctx: Context, { recipient, email, visitor, leave: lists }: ListChoiceInput): Promise<bigint[]> {
  const { customerId, listId } = recipient;
  return inTransaction(ctx, async (inner) => {
    // The source's counter before the people: opens and clicks lock in the same order.
    if (lists === 'all' || lists.includes(listId)) {
      const unsubscribe = { recipient, visitor, source: 'link', reason: null } as const;
      if (await countUnsubscribe(inner.db, unsubscribe))
        inner.tx.afterCommit(() => announceSourceChange(ctx, recipient));
    }
    const address = { customerId, emailKey: emailKey(email), listIds: lists === 'all' ? undefined : lists };
    return (await unsubscribeAddress(inner, address, 'link')).map((ended) => ended.listId);
  });
}
