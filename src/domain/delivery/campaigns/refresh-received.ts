/**
 * Stores who received a campaign as bits (hot.received_block, decision record 0071), which segments read instead of the ledger.
 * Made after the campaign was sent, so that sending costs no more; made again when the ledger has further accepted messages.
 * Segments check the counter themselves: until this has run they read the ledger.
 */
import type { Context } from '../../context.ts';
import { messageOf } from '../../../lib/errors.ts';
import { workWithin } from '../../../lib/work-within.ts';
import { campaignsWithoutBits, makeBits } from './received-store.ts';

/** Smaller campaigns are read from the ledger as fast. */
const PEOPLE_MIN = 5_000;
/** The rest follows a minute later: no job should hold its place for long. A campaign of 600,000 takes half a second. */
const SECONDS_MAX = 30;

/** Makes the bits of all campaigns that need them and are not under way; returns how many were made. */
export async function refreshReceived(
  ctx: Pick<Context, 'database' | 'log'>,
  { peopleMin = PEOPLE_MIN } = {},
): Promise<number> {
  const due = await campaignsWithoutBits(ctx.database, peopleMin);
  const made = await workWithin(SECONDS_MAX * 1_000, due, {
    work: (campaign) => ctx.database.transaction((tx) => makeBits(tx, campaign)),
    failed: ({ campaignId }, error) => ctx.log.warn('received.failed', { campaignId, message: messageOf(error) }),
  });
  if (made > 0) ctx.log.info('received.kept', { campaigns: made, left: due.length - made });
  return made;
}
