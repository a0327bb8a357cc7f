/**
 * The live figures of campaigns. However many watch one campaign, and however often it changes, a process reads it at most four
 * times a second and keeps one value of it: a slow reader costs nothing and misses only outdated values.
 */
import type { Context } from '../context.ts';
import type { Notifications } from '../../db/listen.ts';
import { messageOf } from '../../lib/errors.ts';
import { STATISTICS_CHANNEL, STATISTICS_INTERVAL_MS } from './announce-campaign-change.ts';
import type { CampaignKey } from './campaign-key.ts';
import { readCampaignStatistics, type CampaignStatistics } from './campaign-statistics-read-model.ts';

export interface StatisticsFeed {
  /** The figures now, then the newest after each change, until the reader returns or the feed closes. */
  watch(campaign: CampaignKey): AsyncIterableIterator<CampaignStatistics>;
  /** Ends every watch. */
  close(): void;
}

/** A notification can be lost while a connection is made: watchers see a change this late at most. */
const REREAD_MS = 5_000;

interface Channel {
  readonly campaign: CampaignKey;
  /** Wakes the watchers that wait. */
  waiting: Set<() => void>;
  watchers: number;
  version: number;
  latest: CampaignStatistics | undefined;
  isDirty: boolean;
  timer: NodeJS.Timeout | undefined;
  reading: boolean;
}

const feeds = new WeakMap<Notifications, StatisticsFeed>();

/** The process's feed on these notifications, opened at the first call. */
export function statisticsFeedOf(ctx: Pick<Context, 'database' | 'log'>, notifications: Notifications): StatisticsFeed {
  const known = feeds.get(notifications);
  if (known) return known;
  const feed = openStatisticsFeed({ db: ctx.database, log: ctx.log }, notifications);
  feeds.set(notifications, feed);
  return feed;
}

/** Opens the feed; it listens on the database's channel from now on. */
export function openStatisticsFeed(ctx: Pick<Context, 'db' | 'log'>, notifications: Notifications): StatisticsFeed {
  const channels = new Map<string, Channel>();
  let closed = false;

  const stopListening = notifications.listen(STATISTICS_CHANNEL, (payload) => {
    // null: something was missed.
    if (payload === null) for (const channel of channels.values()) touch(channel);
    else touch(channels.get(payload));
  });
  const rereading = setInterval(() => channels.forEach(touch), REREAD_MS);
  rereading.unref();

  function touch(channel: Channel | undefined): void {
    if (!channel) return;
    channel.isDirty = true;
    if (channel.timer === undefined && !channel.reading) void refresh(channel);
  }

  async function refresh(channel: Channel): Promise<void> {
    channel.isDirty = false;
    channel.reading = true;
    try {
      [channel.latest] = await readCampaignStatistics(ctx, [channel.campaign]);
      channel.version += 1;
      wake(channel);
    } catch (error) {
      channel.isDirty = true;
      ctx.log.warn('statistics.read_failed', { campaign: channel.campaign.campaignId, message: messageOf(error) });
    }
    channel.reading = false;
    if (channel.watchers === 0 || closed) return;
    channel.timer = setTimeout(() => {
      channel.timer = undefined;
      if (channel.isDirty) void refresh(channel);
    }, STATISTICS_INTERVAL_MS);
  }

  function enter(campaign: CampaignKey): Channel {
    const key = `${campaign.customerId}:${campaign.campaignId}`;
    const channel = channels.get(key) ?? newChannel(campaign);
    channels.set(key, channel);
    channel.watchers += 1;
    if (channel.watchers === 1) touch(channel);
    return channel;
  }

  function leave(channel: Channel): void {
    channel.watchers -= 1;
    if (channel.watchers > 0) return;
    clearTimeout(channel.timer);
    channels.delete(`${channel.campaign.customerId}:${channel.campaign.campaignId}`);
  }

  return {
    watch: (campaign) => watchChannel({ enter: () => enter(campaign), leave, isClosed: () => closed }),
    close() {
      closed = true;
      stopListening();
      clearInterval(rereading);
      for (const channel of channels.values()) {
        clearTimeout(channel.timer);
        wake(channel);
      }
    },
  };
}

interface EntryPoint {
  readonly enter: () => Channel;
  readonly leave: (channel: Channel) => void;
  readonly isClosed: () => boolean;
}

/** A hand-written iterator: `return` ends a waiting `next`, which a generator cannot do. */
function watchChannel({ enter, leave, isClosed }: EntryPoint): AsyncIterableIterator<CampaignStatistics> {
  const channel = enter();
  let seen = 0;
  let ended = false;
  let wakeUp: (() => void) | undefined;

  function end(): IteratorReturnResult<undefined> {
    if (!ended) leave(channel);
    ended = true;
    wakeUp?.();
    return { done: true, value: undefined };
  }

  return {
    async next() {
      while (!ended && !isClosed() && channel.version === seen) {
        await new Promise<void>((resolve) => {
          wakeUp = resolve;
          channel.waiting.add(resolve);
        });
        if (wakeUp) channel.waiting.delete(wakeUp);
      }
      if (ended || isClosed() || !channel.latest) return end();
      seen = channel.version;
      return { done: false, value: channel.latest };
    },
    async return() {
      return end();
    },
    async throw(error: unknown) {
      end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function wake(channel: Channel): void {
  const waiting = channel.waiting;
  channel.waiting = new Set();
  for (const resume of waiting) resume();
}

function newChannel(campaign: CampaignKey): Channel {
  return {
    campaign,
    waiting: new Set(),
    watchers: 0,
    version: 0,
    latest: undefined,
    isDirty: false,
    timer: undefined,
    reading: false,
  };
}
