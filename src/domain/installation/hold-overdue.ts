/**
 * Campaigns whose time passed long ago while nothing was running: held, not sent. What was meant for Monday morning is
 * not welcome on Tuesday night, and after a backup was restored it may have been sent already.
 */
import { sql } from '../../db/database.ts';
import type { Context } from '../context.ts';

/** A restart or a new version takes minutes; whoever was away for longer asks the author. */
const OVERDUE_HOURS = 1;

/** Runs at every start, before anything works. Answers how many were held. */
export async function holdOverdueCampaigns(ctx: Context): Promise<number> {
  const reason =
    'Its time passed more than an hour ago while nothing was running. Start it by hand, or give it another time.';
  const held = await ctx.db.query<{ uid: string }>(
    sql`UPDATE campaign SET status = 'paused', status_reason = ${reason}, updated_at = now()
         WHERE status = 'scheduled' AND delivery_at < now() - make_interval(hours => ${OVERDUE_HOURS}::int) RETURNING uid`,
  );
  for (const { uid } of held) ctx.log.warn('campaign.held', { campaign: uid, reason });
  return held.length;
}
