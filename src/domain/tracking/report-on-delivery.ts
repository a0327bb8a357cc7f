/**
 * All reports about a message after it was handed over come through here, from any way: `/notifications`, a bounce mailbox, the
 * SMTP server for bounces, a vendor's webhook. It records what is new and acts by the customer's policy.
 */
import { recordPersonEvents } from '../../events/person-event-store.ts';
import { suppress } from '../audience/suppression-store.ts';
import { unsubscribePerson } from '../audience/unsubscribe-subscriber.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { deleteSoftBounces, noteSoftBounce } from './bounce-policy-store.ts';
import { policyOf } from './bounce-policy.ts';
import type { DeliveryKey } from '../source-key.ts';
import { feedbackTypeOf, isNoComplaint, type ReportedOutcome } from './delivery-report.ts';
import {
  findReportedDelivery,
  resolveAsSent,
  writeBounce,
  writeComplaint,
  type ReportedDelivery,
} from './delivery-report-store.ts';
import { withPartitions } from './partitions.ts';

/** Nothing can be reported about a message that was never sent. */
const HANDED_OVER = new Set(['sending', 'sent', 'unknown']);

/** `known`: nothing changed, because it was reported before or the person is gone. The last three: it is refused. */
export type ReportOutcome = 'recorded' | 'known' | 'not found' | 'too old' | 'not sent';

/** Records the report about the delivery with this key. Repeating it changes nothing. */
export async function reportOnDelivery(
  ctx: Context,
  key: DeliveryKey,
  reported: ReportedOutcome,
): Promise<ReportOutcome> {
  const delivery = await findReportedDelivery(ctx.db, key);
  if (!delivery) return 'not found';
  if (delivery.isTooOld) return 'too old';
  if (!HANDED_OVER.has(delivery.state)) return 'not sent';
  return withPartitions(ctx, () => record(ctx, delivery, reported));
}

function record(ctx: Context, delivery: ReportedDelivery, reported: ReportedOutcome): Promise<ReportOutcome> {
  return inTransaction(ctx, async (inner) => {
    const isResolved = await resolveAsSent(inner.db, delivery);
    const isNewReport = await write(inner, delivery, reported);
    if (!isResolved && !isNewReport) return 'known';
    inner.tx.afterCommit(() => announceSourceChange(ctx, delivery));
    return 'recorded';
  });
}

/** Deleted people get no rows: they were erased on purpose. */
async function write(ctx: TransactionContext, delivery: ReportedDelivery, reported: ReportedOutcome): Promise<boolean> {
  const { customerId, emailKey } = delivery;
  if (emailKey === null) return false;
  switch (reported.kind) {
    case 'arrived':
      await deleteSoftBounces(ctx.db, { customerId, emailKey });
      return false;
    case 'bounce': {
      const isNewReport = await writeBounce(ctx.db, delivery, reported);
      if (!isNewReport) return false;
      await actOnBounce(ctx, { customerId, emailKey, type: reported.type });
      await recordOf(ctx, delivery, { kind: 'bounced', type: reported.type });
      return true;
    }
    case 'complaint': {
      if (isNoComplaint(reported.type)) return false;
      const complaint = { ...reported, type: feedbackTypeOf(reported.type) };
      const isNewReport = await writeComplaint(ctx.db, delivery, complaint);
      if (!isNewReport) return false;
      await letGo(ctx, { ...delivery, emailKey });
      await recordOf(ctx, delivery, { kind: 'complained', type: complaint.type });
      return true;
    }
  }
}

/** What happened to a person of a list; other recipients have no history. */
async function recordOf(
  { db }: TransactionContext,
  { customerId, listId, recipientId }: ReportedDelivery,
  { kind, type }: { readonly kind: 'bounced' | 'complained'; readonly type: string },
): Promise<void> {
  if (listId !== null)
    await recordPersonEvents(db, { customerId, listId }, [{ personId: recipientId, kind, data: { type } }]);
}

/**
 * A mailbox that does not exist is suppressed at once, one with soft bounces after some time. Blocks say nothing about a mailbox.
 */
export async function actOnBounce(
  ctx: Pick<Context, 'db' | 'installation'>,
  { customerId, emailKey, type }: { customerId: bigint; emailKey: string; type: string },
): Promise<void> {
  const person = { customerId, emailKey };
  const isLost =
    type === 'hard' ||
    (type === 'soft' && (await noteSoftBounce(ctx.db, person, await policyOf(ctx, customerId))) === 'suppress');
  if (isLost) await suppress(ctx.db, { ...person, reason: 'bounce' });
}

/** Suppressed first, so that a person who complains gets no goodbye mail. */
async function letGo(ctx: TransactionContext, delivery: ReportedDelivery & { emailKey: string }): Promise<void> {
  const { customerId, listId, recipientId, emailKey } = delivery;
  await suppress(ctx.db, { customerId, emailKey, reason: 'complaint' });
  if (listId !== null) await unsubscribePerson(ctx, { customerId, listId, id: recipientId }, 'complaint');
}
