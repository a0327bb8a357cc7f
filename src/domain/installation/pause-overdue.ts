/**
 * Campaigns whose time passed long ago while no process was running are paused, not sent. A mail for Monday morning is unwelcome
 * on Tuesday night, and after a backup was restored it may have been sent already.
 */
import { moveCampaigns, overdueCampaigns } from '../campaigns/campaign-state-store.ts';
import { reasonText } from '../campaigns/status-reason.ts';
import type { Context } from '../context.ts';

/** A restart or a new version takes minutes; after a longer downtime the author decides. */
const OVERDUE_HOURS = 1;

/** Runs at every start, before any work. Returns how many were paused. */
export async function pauseOverdueCampaigns(ctx: Context): Promise<number> {
  const reason = { code: 'overdue', params: {} } as const;
  const paused = await moveCampaigns(ctx.db, overdueCampaigns(OVERDUE_HOURS), {
    from: ['scheduled'],
    to: 'paused',
    reason,
  });
  for (const uid of paused) ctx.log.warn('campaign.overdue', { campaign: uid, reason: reasonText(reason) });
  return paused.length;
}
