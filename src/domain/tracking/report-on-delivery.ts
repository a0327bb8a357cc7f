/**
 * The one way in for what became of a message after it was handed over, whoever tells: `/notifications`, a bounce
 * mailbox, the SMTP server for bounces, a vendor's webhook. It writes down what is new and acts by the customer's policy.
 */
import { suppress } from '../audience/suppression-store.ts';
import { unsubscribePerson } from '../audience/unsubscribe-subscriber.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { forgetSoftBounces, noteSoftBounce } from './bounce-policy-store.ts';
import { policyOf } from './bounce-policy.ts';
import type { DeliveryKey } from '../source-key.ts';
import { isNoComplaint, type ReportedOutcome } from './delivery-report.ts';
import {
  findReportedDelivery,
  resolveAsSent,
  writeBounce,
  writeComplaint,
  type ReportedDelivery,
} from './delivery-report-store.ts';
import { withPartitions } from './partitions.ts';

/** Nothing can be reported about what never left the installation. */
const HANDED_OVER = new Set(['sending', 'sent', 'unknown']);

/** `known`: nothing changed, because it was told before or there is nobody left. The last three: it is not taken. */
export type ReportOutcome = 'recorded' | 'known' | 'not found' | 'too old' | 'not sent';

/** Takes what is reported about the delivery with this key. Repeats change nothing. */
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

/** People who are gone get no rows: whoever erased them wanted none. */
async function write(ctx: TransactionContext, delivery: ReportedDelivery, reported: ReportedOutcome): Promise<boolean> {
  const { customerId, emailKey } = delivery;
  if (emailKey === null) return false;
  switch (reported.kind) {
    case 'arrived':
      await forgetSoftBounces(ctx.db, { customerId, emailKey });
      return false;
    case 'bounce': {
      const isNewReport = await writeBounce(ctx.db, delivery, reported);
      if (isNewReport) await actOnBounce(ctx, { customerId, emailKey, type: reported.type });
      return isNewReport;
    }
    case 'complaint': {
      if (isNoComplaint(reported.type)) return false;
      const isNewReport = await writeComplaint(ctx.db, delivery, reported);
      if (isNewReport) await letGo(ctx, { ...delivery, emailKey });
      return isNewReport;
    }
  }
}

/** A dead mailbox is suppressed at once, one that is often unable after some time. Blocks say nothing about a mailbox. */
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

/** Suppressed first: whoever complains must not get a goodbye. */
async function letGo(ctx: TransactionContext, delivery: ReportedDelivery & { emailKey: string }): Promise<void> {
  const { customerId, listId, recipientId, emailKey } = delivery;
  await suppress(ctx.db, { customerId, emailKey, reason: 'complaint' });
  if (listId !== null) await unsubscribePerson(ctx, { customerId, listId, id: recipientId }, 'complaint');
}
