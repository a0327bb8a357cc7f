/**
 * Announces that a campaign's figures changed, to watchers in any process: one NOTIFY without figures, at most four a second per
 * campaign and process, and always one after the last change.
 */
import type { Context } from '../context.ts';
import { notify } from '../../db/listen.ts';
import type { Database } from '../../db/database.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { CampaignKey } from './campaign-key.ts';
import type { SourceKey } from '../source-key.ts';
import { campaignOfSource } from './source-read-model.ts';

/** The channel; a payload is `<customer id>:<campaign id>`. */
export const STATISTICS_CHANNEL = 'campaign_statistics';
/** Four a second is as fast as a person can read. */
export const STATISTICS_INTERVAL_MS = 250;

/** By `<customer id>:<campaign id>`: an entry exists for one interval after each notification. `again`: a change came meanwhile. */
type Throttle = Map<string, { again: boolean; timer: NodeJS.Timeout }>;

/** One throttle for each database, by its address: the separate pools of requests and other work share it. */
const throttles = new Map<string, Throttle>();

/**
 * Announces a committed change. Returns at once and never throws: watchers who miss one notification read the figures at the
 * next. Inside a transaction call it from `afterCommit`.
 */
export function announceCampaignChange(
  ctx: Pick<Context, 'database' | 'log'>,
  { customerId, campaignId }: CampaignKey,
): void {
  const throttle = throttleOf(ctx.database);
  const key = `${customerId}:${campaignId}`;
  const held = throttle.get(key);
  if (held) held.again = true;
  else send(ctx, throttle, key);
}

/** The same for any source: figures of other sources than campaigns have no watchers yet. */
export function announceSourceChange(ctx: Pick<Context, 'database' | 'log'>, source: SourceKey): void {
  const campaign = campaignOfSource(source);
  if (campaign) announceCampaignChange(ctx, campaign);
}

/** Sends held-back notifications: for a shutdown, before the database closes. */
export async function flushAnnouncements(ctx: Pick<Context, 'database' | 'log'>): Promise<void> {
  const throttle = throttleOf(ctx.database);
  const held = [...throttle];
  throttle.clear();
  for (const [key, { again, timer }] of held) {
    clearTimeout(timer);
    if (again) await sendNotification(ctx.database, ctx.log, key);
  }
}

function send(ctx: Pick<Context, 'database' | 'log'>, throttle: Throttle, key: string): void {
  const timer = setTimeout(() => {
    const again = throttle.get(key)?.again;
    throttle.delete(key);
    if (again) send(ctx, throttle, key);
  }, STATISTICS_INTERVAL_MS);
  throttle.set(key, { again: false, timer });
  void sendNotification(ctx.database, ctx.log, key);
}

async function sendNotification(database: Database, log: Log, key: string): Promise<void> {
  await notify(database, STATISTICS_CHANNEL, key).catch((error: unknown) => {
    log.warn('statistics.announce_failed', { campaign: key, message: messageOf(error) });
  });
}

function throttleOf(database: Database): Throttle {
  const known = throttles.get(database.url);
  if (known) return known;
  const throttle: Throttle = new Map();
  throttles.set(database.url, throttle);
  return throttle;
}
