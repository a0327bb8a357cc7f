/**
 * The changes of all campaigns of a customer: rows by a trigger, figures by those who change them. A process reads the changed
 * campaigns of a customer once, at most four times a second, and keeps the latest state of a limited number of them, however many
 * watch and however slowly they read.
 */
import { isDeepStrictEqual } from 'node:util';
import { sharedFeed, type FeedSource, type Since } from '../../db/live-feed.ts';
import type { Notifications } from '../../db/listen.ts';
import { viewerOf, type Context } from '../context.ts';
import { STATISTICS_CHANNEL, STATISTICS_INTERVAL_MS } from '../statistics/announce-campaign-change.ts';
import { readCampaignStatistics, type CampaignStatistics } from '../statistics/campaign-statistics-read-model.ts';
import { campaignHeads, openCampaignHeads, type CampaignHead } from './campaign-change-read-model.ts';

/** The channel of `hot.announce_changed_campaign`; a payload is `<customer id>:<campaign id>:<uid>`. */
export const CAMPAIGN_CHANNEL = 'campaign_changed';

/** Campaigns in one event. More changes at once come as a hint to read the list again. */
export const CHANGES_MAX = 100;

/** A campaign's present state. */
export interface ChangedCampaign extends CampaignHead {
  readonly statistics: CampaignStatistics;
}

/** What one watcher has not got yet. */
export interface CampaignChanges {
  /** Changes may be missing here: the watcher reads what it shows again. */
  readonly isGap: boolean;
  readonly changed: readonly ChangedCampaign[];
  readonly deletedUids: readonly string[];
}

interface Entry {
  readonly uid: string;
  /** The reading that brought it. */
  readonly version: number;
  /** Undefined: deleted. */
  readonly campaign: ChangedCampaign | undefined;
}

interface Changes {
  readonly version: number;
  /** Who has read an earlier version than this has a gap. */
  readonly completeSince: number;
  /** By the campaign's id, the latest change last. */
  readonly entries: ReadonlyMap<bigint, Entry>;
}

const feedOf = sharedFeed(({ database }: Pick<Context, 'database' | 'log'>) => sourceOf({ db: database }));

/** Watches all campaigns of the viewer's customer: first those that are open, then what changes. */
export function watchCampaigns(ctx: Context, notifications: Notifications): AsyncIterableIterator<CampaignChanges> {
  const changes = feedOf(ctx, notifications).watch(viewerOf(ctx).customerId);
  let seen = 0;
  return {
    async next() {
      const { done, value } = await changes.next();
      if (done) return { done, value: undefined };
      const since = seen;
      seen = value.version;
      return { done: false, value: changesSince(value, since) };
    },
    async return() {
      await changes.return?.();
      return { done: true, value: undefined };
    },
    async throw(error: unknown) {
      await changes.return?.();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function changesSince({ completeSince, entries }: Changes, seen: number): CampaignChanges {
  const fresh = [...entries.values()].filter(({ version }) => version > seen);
  return {
    isGap: seen < completeSince,
    changed: fresh.flatMap(({ campaign }) => campaign ?? []),
    deletedUids: fresh.flatMap(({ uid, campaign }) => (campaign ? [] : [uid])),
  };
}

function sourceOf(ctx: Pick<Context, 'db'>): FeedSource<bigint, Changes> {
  return {
    channels: [CAMPAIGN_CHANNEL, STATISTICS_CHANNEL],
    keyOf: String,
    keyIn: (payload) => payload.split(':', 1)[0] ?? '',
    read: (customerId, since) => readChanges(ctx, customerId, since),
    isSame: (before, after) => before.version === after.version,
    intervalMs: STATISTICS_INTERVAL_MS,
  };
}

async function readChanges(
  ctx: Pick<Context, 'db'>,
  customerId: bigint,
  { last, payloads }: Since<Changes>,
): Promise<Changes> {
  const version = (last?.version ?? 0) + 1;
  const announced = new Map((payloads ?? []).map(announcementIn));
  if (!last || payloads === null || announced.size > CHANGES_MAX) {
    const open = await withStatistics(ctx, customerId, await openCampaignHeads(ctx.db, customerId, CHANGES_MAX));
    const entries = open.map((campaign) => [campaign.id, { uid: campaign.uid, version, campaign }] as const);
    return { version, completeSince: version, entries: new Map(entries) };
  }
  const ids = [...announced.keys()];
  const present = await withStatistics(ctx, customerId, await campaignHeads(ctx.db, customerId, ids));
  const byId = new Map(present.map((campaign) => [campaign.id, campaign]));
  const changed = ids.flatMap((id): [bigint, Entry][] => {
    const [before, campaign] = [last.entries.get(id), byId.get(id)];
    const uid = campaign?.uid ?? before?.uid ?? announced.get(id);
    const hasChanged = uid !== undefined && !(before && isDeepStrictEqual(before.campaign, campaign));
    return hasChanged ? [[id, { uid, version, campaign }]] : [];
  });
  return changed.length === 0 ? last : withChanges(last, version, changed);
}

/** The oldest changes are dropped beyond the limit: who has not read them has a gap. */
function withChanges(last: Changes, version: number, changed: readonly [bigint, Entry][]): Changes {
  const entries = new Map(last.entries);
  for (const [id, entry] of changed) {
    entries.delete(id);
    entries.set(id, entry);
  }
  let { completeSince } = last;
  for (const [id, entry] of entries) {
    if (entries.size <= CHANGES_MAX) break;
    entries.delete(id);
    completeSince = Math.max(completeSince, entry.version);
  }
  return { version, completeSince, entries };
}

async function withStatistics(
  ctx: Pick<Context, 'db'>,
  customerId: bigint,
  heads: readonly CampaignHead[],
): Promise<ChangedCampaign[]> {
  if (heads.length === 0) return [];
  const figures = await readCampaignStatistics(
    ctx,
    heads.map(({ id }) => ({ customerId, campaignId: id })),
  );
  return heads.flatMap((head, no) => {
    const statistics = figures[no];
    return statistics ? [{ ...head, statistics }] : [];
  });
}

/** The campaign, and its uid where the payload has it. */
function announcementIn(payload: string): [bigint, string | undefined] {
  const [, id = '0', uid] = payload.split(':');
  return [BigInt(id), uid];
}
