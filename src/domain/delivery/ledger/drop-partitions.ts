/**
 * Drops months that the operator does not keep: of the ledger and of events. Counters and statistics stay. No long locks: a month
 * is detached from its table while work continues, then dropped.
 */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { deleteMessagesOfMonth } from '../../messages/message-store.ts';
import {
  dropMonth,
  removeReceived,
  isNeeded,
  isWebhookMonthNeeded,
  monthsBefore,
} from '../../tracking/partition-store.ts';

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

/**
 * Of webhooks' deliveries, whatever the operator keeps otherwise: a log for looking into and for sending again. Deliveries go before
 * their attempts: of one that exists an attempt can be written.
 */
const WEBHOOKS = ['webhook_delivery', 'webhook_attempt'];
const WEBHOOK_MONTHS = 1;

/** Drops older months; returns the dropped partitions. A month with unfinished campaigns, messages or webhooks' deliveries stays. */
export async function dropPartitions(
  ctx: Context,
  { ledgerMonths, eventMonths }: Retention = KEEP_ALL,
): Promise<string[]> {
  const dropped: string[] = [];
  const webhooks = await monthsBefore(ctx.database, WEBHOOKS, WEBHOOK_MONTHS);
  const due = [
    ...WEBHOOKS.flatMap((parent) => webhooks.filter((month) => month.parent === parent)),
    ...(eventMonths > 0 ? await monthsBefore(ctx.database, EVENTS, eventMonths) : []),
    ...(ledgerMonths > 0 ? await monthsBefore(ctx.database, ['delivery'], ledgerMonths) : []),
  ];
  for (const month of due) {
    if (month.parent === 'delivery' && (await isNeeded(ctx.database, month))) continue;
    if (WEBHOOKS.includes(month.parent) && (await isWebhookMonthNeeded(ctx.database, month))) continue;
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
