/** A vendor says that it does not know a subscription that it kept. That may be wrong: the gateway may have the keys of another account for a while. */
import type { Context } from '../../context.ts';
import { writeGone, type Remote } from './remote-subscription-store.ts';

/** Believed when it was said twice, this far apart, as for charges that are said to be cancelled. */
const GONE_CONFIRMED_MS = 60 * 60 * 1_000;
export const GONE = 'The vendor does not know this subscription any more.';

/** True: it is believed. Ours is renewed by invoices then, and nothing is ended; the vendor's list shows it if it is there after all. */
export async function noteGone(ctx: Context, row: Remote): Promise<boolean> {
  const at = ctx.clock.now();
  ctx.log.error('billing.remote_gone', { remote: row.remoteId, message: GONE });
  return writeGone(ctx.db, row, {
    ...{ error: GONE, at },
    confirmed: new Date(at.getTime() - GONE_CONFIRMED_MS),
    again: new Date(at.getTime() + GONE_CONFIRMED_MS),
  });
}
