/**
 * Drops months that the operator does not keep: of the ledger and of events. Counters and statistics stay. No long locks: a month
 * is detached from its table while work continues, then dropped.
 */
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { deleteMessagesOfMonth } from '../messages/message-store.ts';
import { dropMonth, removeReceived, isNeeded, monthsBefore } from '../tracking/partition-store.ts';

/** How many whole months are kept besides the present one; 0 keeps everything. */
export interface Retention {
  readonly ledgerMonths: number;
  readonly eventMonths: number;
}

/** The default. */
const KEEP_ALL: Retention = { ledgerMonths: 0, eventMonths: 0 };

const EVENTS = [
  ...['open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'],
  ...['flow_step', 'person_event'],
];

/** Of webhooks' deliveries, whatever the operator keeps otherwise: a log for looking into and for sending again. */
const WEBHOOKS = ['webhook_delivery', 'webhook_attempt'];
const WEBHOOK_MONTHS = 1;

/** Drops older months; returns the dropped partitions. A month with unfinished campaigns or messages stays. */
export async function dropPartitions(
  ctx: Context,
  { ledgerMonths, eventMonths }: Retention = KEEP_ALL,
): Promise<string[]> {
  const dropped: string[] = [];
  const due = [
    ...(await monthsBefore(ctx.database, WEBHOOKS, WEBHOOK_MONTHS)),
    ...(eventMonths > 0 ? await monthsBefore(ctx.database, EVENTS, eventMonths) : []),
    ...(ledgerMonths > 0 ? await monthsBefore(ctx.database, ['delivery'], ledgerMonths) : []),
  ];
  for (const month of due) {
    if (month.parent === 'delivery' && (await isNeeded(ctx.database, month))) continue;
    try {
      if (month.parent === 'delivery') await removeReceived(ctx.database, month);
      await dropMonth(ctx.database, month);
      if (month.parent === 'delivery') await deleteMessagesOfMonth(ctx.db, month.month);
      dropped.push(month.partition);
    } catch (error) {
      ctx.log.warn('partitions.not_dropped', { partition: month.partition, message: messageOf(error) });
    }
  }
  if (dropped.length > 0) ctx.log.info('partitions.dropped', { partitions: dropped });
  return dropped;
}
