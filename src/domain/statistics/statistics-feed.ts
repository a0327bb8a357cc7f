/**
 * The live figures of campaigns. However many watch one campaign, and however often it changes, a process reads it at
 * most four times a second and keeps one value of it: a reader that stops reading costs nothing and misses nothing
 * but values that are outdated anyway.
 */
import type { Context } from '../context.ts';
import type { Notifications } from '../../db/listen.ts';
import { messageOf } from '../../lib/errors.ts';
import { STATISTICS_CHANNEL, STATISTICS_INTERVAL_MS } from './announce-campaign-change.ts';
import type { CampaignKey } from './campaign-key.ts';
import { readCampaignStatistics, type CampaignStatistics } from './campaign-statistics.ts';

export interface StatisticsFeed {
  /** The figures now, then the newest whenever they changed, until the reader returns or the feed closes. */
  watch(campaign: CampaignKey): AsyncIterableIterator<CampaignStatistics>;
  /** Ends every watch. */
  close(): void;
}

/** A notification can be lost while a connection is made: whoever watches sees the truth this late at most. */
const REREAD_MS = 5_000;

interface Room {
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

/** The process's feed on these notifications, opened when the first one asks. */
export function statisticsFeedOf(ctx: Pick<Context, 'database' | 'log'>, notifications: Notifications): StatisticsFeed {
  const known = feeds.get(notifications);
  if (known) return known;
  const feed = openStatisticsFeed({ db: ctx.database, log: ctx.log }, notifications);
  feeds.set(notifications, feed);
  return feed;
}

/** Opens the feed; it listens on the database's channel from now on. */
export function openStatisticsFeed(ctx: Pick<Context, 'db' | 'log'>, notifications: Notifications): StatisticsFeed {
  const rooms = new Map<string, Room>();
  let closed = false;

  const stopListening = notifications.listen(STATISTICS_CHANNEL, (payload) => {
    // null: something was missed, nobody knows what.
    if (payload === null) for (const room of rooms.values()) touch(room);
    else touch(rooms.get(payload));
  });
  const rereading = setInterval(() => rooms.forEach(touch), REREAD_MS);
  rereading.unref();

  function touch(room: Room | undefined): void {
    if (!room) return;
    room.isDirty = true;
    if (room.timer === undefined && !room.reading) void refresh(room);
  }

  async function refresh(room: Room): Promise<void> {
    room.isDirty = false;
    room.reading = true;
    try {
      [room.latest] = await readCampaignStatistics(ctx, [room.campaign]);
      room.version += 1;
      wake(room);
    } catch (error) {
      room.isDirty = true;
      ctx.log.warn('statistics.read_failed', { campaign: room.campaign.campaignId, message: messageOf(error) });
    }
    room.reading = false;
    if (room.watchers === 0 || closed) return;
    room.timer = setTimeout(() => {
      room.timer = undefined;
      if (room.isDirty) void refresh(room);
    }, STATISTICS_INTERVAL_MS);
  }

  function enter(campaign: CampaignKey): Room {
    const key = `${campaign.customerId}:${campaign.campaignId}`;
    const room = rooms.get(key) ?? newRoom(campaign);
    rooms.set(key, room);
    room.watchers += 1;
    if (room.watchers === 1) touch(room);
    return room;
  }

  function leave(room: Room): void {
    room.watchers -= 1;
    if (room.watchers > 0) return;
    clearTimeout(room.timer);
    rooms.delete(`${room.campaign.customerId}:${room.campaign.campaignId}`);
  }

  return {
    watch: (campaign) => watchRoom({ enter: () => enter(campaign), leave, isClosed: () => closed }),
    close() {
      closed = true;
      stopListening();
      clearInterval(rereading);
      for (const room of rooms.values()) {
        clearTimeout(room.timer);
        wake(room);
      }
    },
  };
}

interface Door {
  readonly enter: () => Room;
  readonly leave: (room: Room) => void;
  readonly isClosed: () => boolean;
}

/** An iterator by hand: `return` ends a `next` that waits, which a generator cannot do. */
function watchRoom({ enter, leave, isClosed }: Door): AsyncIterableIterator<CampaignStatistics> {
  const room = enter();
  let seen = 0;
  let ended = false;
  let wakeUp: (() => void) | undefined;

  function end(): IteratorReturnResult<undefined> {
    if (!ended) leave(room);
    ended = true;
    wakeUp?.();
    return { done: true, value: undefined };
  }

  return {
    async next() {
      while (!ended && !isClosed() && room.version === seen) {
        await new Promise<void>((resolve) => {
          wakeUp = resolve;
          room.waiting.add(resolve);
        });
        if (wakeUp) room.waiting.delete(wakeUp);
      }
      if (ended || isClosed() || !room.latest) return end();
      seen = room.version;
      return { done: false, value: room.latest };
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

function wake(room: Room): void {
  const waiting = room.waiting;
  room.waiting = new Set();
  for (const resume of waiting) resume();
}

function newRoom(campaign: CampaignKey): Room {
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
