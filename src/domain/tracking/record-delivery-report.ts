/**
 * Takes what an external delivery system reports about a message (decision D41): that it arrived, bounced, or that its
 * reader called it unwanted. Finds the message by our own Message-ID or the driver's id for it. What follows for the
 * person: a hard bounce suppresses the address for the customer and leaves the status (nobody took a consent back); a
 * soft one is only noted; a complaint suppresses and unsubscribes. Repeats change nothing.
 */
import { parseInput } from '../../lib/text.ts';
import { holdsScope } from '../accounts/scopes.ts';
import { suppress } from '../audience/suppression.ts';
import { unsubscribePerson } from '../audience/unsubscribe-subscriber.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { announceCampaignChange } from '../statistics/announce-campaign-change.ts';
import { parseDeliveryMessageId } from './delivery-message-id.ts';
import {
  deliveryReportInput,
  foreignMessage,
  messageNotFound,
  messageNotSent,
  reportTooOld,
  statusCodeIn,
  type DeliveryReport,
  type DeliveryReportInput,
  type RecordedReport,
} from './delivery-report.ts';
import {
  deliveriesByRuntimeMessage,
  findReportedDelivery,
  resolveAsSent,
  writeBounce,
  writeComplaint,
  type ReportedDelivery,
} from './delivery-report-store.ts';
import { makeThisMonth, mayLackPartition } from './partitions.ts';
import { runtimeMessageKey } from './runtime-message.ts';

/** Nothing can be reported about what never left the house. */
const HANDED_OVER = new Set(['sending', 'sent', 'unknown']);

/**
 * Records a report about a message of the viewer's customer; an administrator may report about everybody's, because
 * the house's own servers send for all. Throws MESSAGE_NOT_FOUND, the foreign error of the same code, REPORT_TOO_OLD
 * and MESSAGE_NOT_SENT.
 */
export async function recordDeliveryReport(ctx: Context, input: DeliveryReportInput): Promise<RecordedReport> {
  const report = parseInput(deliveryReportInput, input);
  const delivery = await find(ctx, report.messageId);
  if (delivery.isTooOld) throw reportTooOld();
  if (!HANDED_OVER.has(delivery.state)) throw messageNotSent();
  try {
    return await record(ctx, delivery, report);
  } catch (error) {
    if (ctx.tx || !mayLackPartition(error)) throw error;
    await makeThisMonth(ctx);
    return record(ctx, delivery, report);
  }
}

async function find(ctx: Context, messageId: string): Promise<ReportedDelivery> {
  const { customerId, isAdmin, scopes } = viewerOf(ctx);
  const mayReportForAll = isAdmin && holdsScope(scopes, 'admin');
  const own = parseDeliveryMessageId(ctx.installation, messageId);
  const keys = own ? [own] : await deliveriesByRuntimeMessage(ctx.db, runtimeMessageKey(messageId));
  const reachable = keys.filter((key) => mayReportForAll || key.customerId === customerId);
  for (const key of reachable) {
    const delivery = await findReportedDelivery(ctx.db, key);
    if (delivery) return delivery;
  }
  throw keys.length > reachable.length ? foreignMessage() : messageNotFound();
}

function record(ctx: Context, delivery: ReportedDelivery, report: DeliveryReport): Promise<RecordedReport> {
  return inTransaction(ctx, async (inner) => {
    const isResolved = await resolveAsSent(inner.db, delivery);
    const isNews = await write(inner, delivery, report);
    const changed = isResolved || isNews;
    if (changed) inner.tx.afterCommit(() => announceCampaignChange(ctx, delivery));
    return { type: report.type, changed };
  });
}

/** People who are gone get no rows: whoever erased them wanted none. */
async function write(ctx: TransactionContext, delivery: ReportedDelivery, report: DeliveryReport): Promise<boolean> {
  if (delivery.emailKey === null) return false;
  const message = report.description || null;
  switch (report.type) {
    case 'sent':
      return false;
    case 'bounced':
    case 'failed': {
      const type = report.type === 'failed' ? 'failed' : (report.bounceType ?? 'soft');
      const isNews = await writeBounce(ctx.db, delivery, { type, statusCode: statusCodeIn(message), message });
      if (isNews && type === 'hard') await suppressPerson(ctx, delivery, 'bounce');
      return isNews;
    }
    case 'abuse':
    case 'reported': {
      const type = report.reportType || 'abuse';
      // The opposite of a complaint (RFC 6650 leaves it to the receiver): somebody took the message out of the junk.
      if (type.toLowerCase() === 'not-spam') return false;
      const isNews = await writeComplaint(ctx.db, delivery, { type, message });
      if (isNews) await letGo(ctx, delivery);
      return isNews;
    }
  }
}

/** Suppressed first: whoever complains must not get a goodbye. */
async function letGo(ctx: TransactionContext, delivery: ReportedDelivery): Promise<void> {
  const { customerId, listId, subscriberId } = delivery;
  await suppressPerson(ctx, delivery, 'complaint');
  await unsubscribePerson(ctx, { customerId, listId, id: subscriberId }, 'complaint');
}

async function suppressPerson(
  { db }: TransactionContext,
  { customerId, emailKey }: ReportedDelivery,
  reason: 'bounce' | 'complaint',
): Promise<void> {
  if (emailKey !== null) await suppress(db, { customerId, emailKey, reason });
}
