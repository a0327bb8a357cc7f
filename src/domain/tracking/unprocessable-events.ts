/** Handles tracking events that can never be moved because a value in them is invalid, so that others do not wait. */
import type { Context } from '../context.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { messageOf } from '../../lib/errors.ts';
import { MOVING_LOCK } from './tracking-event.ts';
import { splitOldestRow } from './tracking-event-store.ts';

/** PostgreSQL's classes for invalid values: another try fails in the same way. */
const DATA_EXCEPTION = '22';
const INTEGRITY_VIOLATION = '23';

/** Whether a try with the same tracking events fails again. */
export function isFaultOfData(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return error.code.startsWith(DATA_EXCEPTION) || error.code.startsWith(INTEGRITY_VIOLATION);
}

/**
 * Splits the oldest row into rows of one tracking event each, so that the good ones are moved; a single bad one is dropped and
 * logged. Uses the same lock as moving.
 */
export async function takeApart(ctx: Context, error: unknown): Promise<void> {
  const [dropped] = await ctx.database.transaction(async (tx) => {
    await lockUntilCommit(tx, MOVING_LOCK);
    return splitOldestRow(tx);
  });
  if (dropped) ctx.log.error('tracking.event_lost', { trackingEvent: dropped.id, message: messageOf(error) });
}
