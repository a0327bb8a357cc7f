/**
 * Takes an external system's report about a message (decision D41): it arrived, bounced, or its reader complained. Finds the
 * message by our own Message-ID or the driver's id; report-on-delivery.ts decides what follows for the person.
 */
import { parseInput } from '../../lib/text.ts';
import { holdsScope } from '../accounts/scopes.ts';
import { viewerOf, type Context } from '../context.ts';
import type { DeliveryKey } from '../source-key.ts';
import { parseDeliveryMessageId } from './delivery-message-id.ts';
import {
  deliveryReportInput,
  foreignMessage,
  messageNotFound,
  messageNotSent,
  reportedOutcomeOf,
  reportTooOld,
  type DeliveryReportInput,
  type RecordedReport,
} from './delivery-report.ts';
import { deliveriesByRuntimeMessage } from './delivery-report-store.ts';
import { reportOnDelivery } from './report-on-delivery.ts';
import { runtimeMessageKey } from './runtime-message.ts';

/**
 * Records a report about a message of the viewer's customer; an administrator may report about all, because the operator's own
 * servers send for all. Throws MESSAGE_NOT_FOUND, the foreign error of the same code, REPORT_TOO_OLD and MESSAGE_NOT_SENT.
 */
export async function recordDeliveryReport(ctx: Context, input: DeliveryReportInput): Promise<RecordedReport> {
  const report = parseInput(deliveryReportInput, input);
  const { customerId, isAdmin, scopes } = viewerOf(ctx);
  const mayReportForAll = isAdmin && holdsScope(scopes, 'admin');
  const keys = await deliveriesNamed(ctx, report.messageId);
  const reachable = keys.filter((key) => mayReportForAll || key.customerId === customerId);
  for (const key of reachable) {
    const outcome = await reportOnDelivery(ctx, key, reportedOutcomeOf(report));
    if (outcome === 'too old') throw reportTooOld();
    if (outcome === 'not sent') throw messageNotSent();
    if (outcome !== 'not found') return { type: report.type, changed: outcome === 'recorded' };
  }
  throw keys.length > reachable.length ? foreignMessage() : messageNotFound();
}

/** Possible deliveries for this message id: one, unless drivers of two customers use the same id. */
export async function deliveriesNamed(
  { db, installation }: Pick<Context, 'db' | 'installation'>,
  messageId: string,
): Promise<readonly DeliveryKey[]> {
  const own = parseDeliveryMessageId(installation, messageId);
  return own ? [own] : deliveriesByRuntimeMessage(db, runtimeMessageKey(messageId));
}
