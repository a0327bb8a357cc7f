/**
 * Stores how often people opened and clicked a campaign, and who clicked which link, as bits (decision record 0071), which
 * segments read instead of the rows of the people. Opens and clicks write nothing for it.
 */
import { messageOf } from '../../../lib/errors.ts';
import { workWithin } from '../../../lib/work-within.ts';
import type { Context } from '../../context.ts';
import { campaignsToCount, countCampaign } from './counted-campaign-store.ts';

/** People who opened or clicked. Smaller campaigns' rows are read as fast. */
const PEOPLE_MIN = 5_000;
/** The rest follows a minute later: no job should hold its place for long. */
const SECONDS_MAX = 30;

/**
 * Makes the bits of all campaigns with activity before today and after their bits were made; returns how many were made. At most
 * once a day per campaign.
 */
export async function refreshCounts(
  ctx: Pick<Context, 'database' | 'log'>,
  { peopleMin = PEOPLE_MIN } = {},
): Promise<number> {
  const due = await campaignsToCount(ctx.database, peopleMin);
  const made = await workWithin(SECONDS_MAX * 1_000, due, {
    work: (campaign) => ctx.database.transaction((tx) => countCampaign(tx, campaign)),
    failed: ({ campaignId }, error) => ctx.log.warn('counts.failed', { campaignId, message: messageOf(error) }),
  });
  if (made > 0) ctx.log.info('counts.kept', { campaigns: made, left: due.length - made });
  return made;
}
