/**
 * Drops months that the operator does not keep: of the ledger, and of what came back. Counters and figures stay. Never
 * a long lock: a month is taken off its table beside the running work, then dropped by itself.
 */
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { dropMonth, forgetReceived, isNeeded, monthsBefore } from '../tracking/partition-store.ts';

/** How many whole months are kept besides the one that runs; 0 keeps everything. */
export interface Retention {
  readonly ledgerMonths: number;
  readonly eventMonths: number;
}

/** What holds where nothing is set. */
const KEEP_ALL: Retention = { ledgerMonths: 0, eventMonths: 0 };

const EVENTS = ['open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'];

/** Drops what is older; answers the partitions dropped. A month whose campaigns are not all at their end stays. */
export async function dropPartitions(
  ctx: Context,
  { ledgerMonths, eventMonths }: Retention = KEEP_ALL,
): Promise<string[]> {
  const dropped: string[] = [];
  const due = [
    ...(eventMonths > 0 ? await monthsBefore(ctx.database, EVENTS, eventMonths) : []),
    ...(ledgerMonths > 0 ? await monthsBefore(ctx.database, ['delivery'], ledgerMonths) : []),
  ];
  for (const month of due) {
    if (month.parent === 'delivery' && (await isNeeded(ctx.database, month))) continue;
    try {
      if (month.parent === 'delivery') await forgetReceived(ctx.database, month);
      await dropMonth(ctx.database, month);
      dropped.push(month.partition);
    } catch (error) {
      ctx.log.warn('partitions.not_dropped', { partition: month.partition, message: messageOf(error) });
    }
  }
  if (dropped.length > 0) ctx.log.info('partitions.dropped', { partitions: dropped });
  return dropped;
}
