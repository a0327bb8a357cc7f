/**
 * Unsubscribes the person of a signed link. It is counted for the campaign once per recipient; the person is unsubscribed even if
 * the campaign was deleted.
 */
import { WrongStateError } from '../../lib/errors.ts';
import { inTransaction, type Context } from '../context.ts';
import { undoUnsubscribe } from '../audience/undo-unsubscribe.ts';
import { unsubscribePerson, type EndedSubscription } from '../audience/unsubscribe-subscriber.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { withPartitions } from './partitions.ts';
import { sameAddressNow } from './same-address-read-model.ts';
import type { TrackedRecipient } from './tracking.ts';
import type { UndoableUnsubscribe } from './undo-token.ts';
import { countUnsubscribe, uncountUnsubscribe, type Unsubscribe } from './unsubscribe-store.ts';

/** What unsubscribing did, for undoing it. */
export interface RecordedUnsubscribe {
  /** The subscription that it ended; undefined: there was none. */
  readonly ended: EndedSubscription | undefined;
  /** Whether it was counted for the source. */
  readonly isCounted: boolean;
}

/** Unsubscribes at once; repeating it changes nothing. Undefined when the person is no longer on the list. */
export function recordUnsubscribe(ctx: Context, unsubscribe: Unsubscribe): Promise<RecordedUnsubscribe | undefined> {
  return withPartitions(ctx, () => record(ctx, unsubscribe));
}

/** The same; a person who was deleted and added again is known by the address that the mail went to. */
export async function recordUnsubscribeOfReader(
  ctx: Context,
  unsubscribe: Unsubscribe,
): Promise<RecordedUnsubscribe | undefined> {
  const recorded = await recordUnsubscribe(ctx, unsubscribe);
  if (recorded) return recorded;
  const now = await sameAddressNow(ctx, unsubscribe.recipient);
  return now && recordUnsubscribe(ctx, { ...unsubscribe, recipient: now });
}

async function record(ctx: Context, unsubscribe: Unsubscribe): Promise<RecordedUnsubscribe | undefined> {
  const { customerId, listId, recipientId } = unsubscribe.recipient;
  return inTransaction(ctx, async (inner) => {
    // The source's counter before the person: opens and clicks lock in the same order.
    const isCounted = await countUnsubscribe(inner.db, unsubscribe);
    if (isCounted) inner.tx.afterCommit(() => announceSourceChange(ctx, unsubscribe.recipient));
    const outcome = await unsubscribePerson(inner, { customerId, listId, id: recipientId }, unsubscribe.source);
    return outcome && { ended: outcome.ended, isCounted };
  });
}

/**
 * Undoes what `recordUnsubscribeOfReader` did for this link: the subscription, and the count of its source. False, and nothing
 * changes, when `undoUnsubscribe` refuses.
 */
export async function undoRecordedUnsubscribe(
  ctx: Context,
  recipient: TrackedRecipient,
  { ended, isCounted }: UndoableUnsubscribe,
): Promise<boolean> {
  try {
    await inTransaction(ctx, async (inner) => {
      // In the order of `record`.
      if (isCounted && (await uncountUnsubscribe(inner.db, { ...recipient, recipientId: ended.id })))
        inner.tx.afterCommit(() => announceSourceChange(ctx, recipient));
      if (!(await undoUnsubscribe(inner, ended))) throw tooLate();
    });
    return true;
  } catch (error) {
    if (error instanceof WrongStateError && error.code === TOO_LATE) return false;
    throw error;
  }
}

const TOO_LATE = 'UNDO_TOO_LATE';
const tooLate = () => new WrongStateError(TOO_LATE, 'The unsubscription cannot be undone any more.');
