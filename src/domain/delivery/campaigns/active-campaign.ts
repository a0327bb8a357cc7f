/**
 * A campaign that this process is sending. It is created when the first job of the process takes the campaign and closed when the
 * process stops sending it: paused, finished, its text changed. Its counts live as long; its message is compiled again whenever
 * its sources change, such as its list or its customer's plan.
 */
import type { Context } from '../../context.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import type { Limits } from '../../limits.ts';
import { JobLine } from '../../sending/routing/job-line.ts';
import { loadEdition, type Edition } from './campaign-edition.ts';
import { readEditionHead } from './campaign-source-read-model.ts';
import type { LedgerKey, LedgerRange } from '../ledger/delivery.ts';
import { HeldRanges, type Refused } from './range-locks.ts';
import type { Leaseholder } from '../ledger/ledger-store.ts';
import { createOutcomeRecorder, type OutcomeRecorder } from './outcome-recorder.ts';
import { RefusalCounts } from './refusal-counts.ts';

export class ActiveCampaign {
  readonly campaignKey: CampaignKey;
  /** Its part of the ledger. */
  readonly key: LedgerKey;
  readonly refusals: RefusalCounts;
  /** For jobs that wait for other jobs of their customer: they return one after the other, whichever campaign they belong to. */
  readonly line: JobLine;
  readonly #recorders = new Map<bigint, OutcomeRecorder>();
  #edition: Edition | undefined;

  constructor(
    { campaignKey, key, line }: Pick<ActiveCampaign, 'campaignKey' | 'key' | 'line'>,
    { bouncePause }: Pick<Limits, 'bouncePause'>,
  ) {
    this.campaignKey = campaignKey;
    this.key = key;
    this.line = line;
    this.refusals = new RefusalCounts(bouncePause);
  }

  /** Undefined: its memory was needed for others. */
  get edition(): Edition | undefined {
    return this.#edition;
  }

  /** Batches that start from now on send this one. */
  use(edition: Edition | undefined): void {
    this.#edition = edition;
    if (edition) this.refusals.believesBounces = edition.believesRefusals;
  }

  /** The recorder that all jobs of this process share for a server: their writes are combined. */
  recorder(ctx: Context, by: { serverId: bigint; holder: Leaseholder }): OutcomeRecorder {
    const known = this.#recorders.get(by.serverId);
    if (known) return known;
    const recorder = createOutcomeRecorder(ctx.database, ctx.log, { key: this.key, ...by });
    this.#recorders.set(by.serverId, recorder);
    return recorder;
  }
}

/** A campaign and its message for one batch. */
export interface CampaignInHand {
  readonly campaign: ActiveCampaign;
  readonly edition: Edition;
}

/** The campaigns that a process is sending. */
export interface ActiveCampaigns {
  /** The campaign, ready to be sent; undefined when it is not being sent (paused, deleted, done, waiting for its plan). */
  take(ctx: TakeContext, key: CampaignKey): Promise<CampaignInHand | undefined>;
  /** This process stops sending it: its counts start again when it is taken again. */
  close(key: CampaignKey): void;
  /** Locks the range for the worker, and returns a function that unlocks it; or what holds it already. */
  lockRange(workerId: string, range: LedgerRange): (() => void) | Refused;
}

/** The installation's secret decrypts the signing keys. */
export type TakeContext = Pick<Context, 'db' | 'hooks' | 'installation'>;

/** A compiled message has its html in memory several times; a process rarely sends more campaigns than this. */
const EDITIONS_MAX = 20;
/** Files of messages count with their encoded bytes: a process has 250 MB for everything. */
const EDITION_BYTES_MAX = 67_108_864;
/** Without their messages they are small. One that another process finished is closed when so many are newer. */
const CAMPAIGNS_MAX = 1_000;

/** An empty set. */
export function createActiveCampaigns(): ActiveCampaigns {
  /** The one that was taken longest ago comes first. */
  const campaigns = new Map<bigint, ActiveCampaign>();
  const loading = new Map<bigint, { version: string; campaign: Promise<CampaignInHand | undefined> }>();
  const ranges = new HeldRanges();

  const begin = (loaded: Pick<ActiveCampaign, 'campaignKey' | 'key'>, limits: Limits) => {
    const other = [...campaigns.values()].find(({ key }) => key.customerId === loaded.key.customerId);
    return new ActiveCampaign({ ...loaded, line: other?.line ?? new JobLine() }, limits);
  };
  const load = async (ctx: TakeContext, key: CampaignKey, version: string) => {
    try {
      const loaded = await loadEdition(ctx, key, version);
      if (!loaded) return undefined;
      const { edition } = loaded;
      const campaign = campaigns.get(key.campaignId) ?? begin(loaded, ctx.installation.limits);
      campaign.use(edition);
      campaigns.delete(key.campaignId);
      campaigns.set(key.campaignId, campaign);
      yieldSlot(campaigns);
      return { campaign, edition };
    } finally {
      loading.delete(key.campaignId);
    }
  };
  return {
    async take(ctx, key) {
      const head = await readEditionHead(ctx.db, key);
      // A plugin that comes or goes may change the message.
      const version = `${head?.version}|${ctx.hooks.changes}`;
      const campaign = campaigns.get(key.campaignId);
      if (head?.status !== 'sending') {
        // A campaign that waits for a time continues with all its counts.
        if (head?.status !== 'waiting') campaigns.delete(key.campaignId);
        return undefined;
      }
      if (campaign?.edition?.version === version) return { campaign, edition: campaign.edition };
      const underWay = loading.get(key.campaignId);
      if (underWay?.version === version) return underWay.campaign;
      const loaded = load(ctx, key, version);
      loading.set(key.campaignId, { version, campaign: loaded });
      return loaded;
    },
    close: ({ campaignId }) => void campaigns.delete(campaignId),
    lockRange: (workerId, range) => ranges.hold(workerId, range),
  };
}

/** Drops the messages, and then the campaigns, that were loaded longest ago; never the last one. */
function yieldSlot(campaigns: Map<bigint, ActiveCampaign>): void {
  const compiled = [...campaigns.values()].flatMap((campaign) => campaign.edition ?? []);
  let bytes = compiled.reduce((sum, { message }) => sum + message.staticBytes, 0);
  let count = compiled.length;
  for (const campaign of [...campaigns.values()].slice(0, -1)) {
    if (count <= EDITIONS_MAX && bytes <= EDITION_BYTES_MAX) break;
    if (!campaign.edition) continue;
    bytes -= campaign.edition.message.staticBytes;
    count -= 1;
    campaign.use(undefined);
  }
  for (const [oldest] of campaigns) if (campaigns.size > CAMPAIGNS_MAX) campaigns.delete(oldest);
}
