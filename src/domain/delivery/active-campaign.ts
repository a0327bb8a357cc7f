/**
 * A campaign that this process is sending. It is made when the first job of the process takes the campaign up and closed when
 * the process stops sending it: paused, finished, its text changed. What is counted of it lives as long; its message is
 * compiled anew whenever something changes that the message is made of, such as its list or its customer's plan.
 */
import type { Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import type { Limits } from '../limits.ts';
import { JobLine } from '../sending/routing/job-line.ts';
import { loadEdition, type Edition } from './campaign-edition.ts';
import { readEditionHead } from './campaign-source-read-model.ts';
import type { LedgerKey, LedgerRange } from './delivery.ts';
import { HeldRanges, type Refused } from './range-locks.ts';
import type { Leaseholder } from './ledger-store.ts';
import { createOutcomeRecorder, type OutcomeRecorder } from './outcome-recorder.ts';
import { RefusalCounts } from './refusal-counts.ts';

export class ActiveCampaign {
  readonly campaignKey: CampaignKey;
  /** Its part of the ledger. */
  readonly key: LedgerKey;
  readonly refusals: RefusalCounts;
  /** Of jobs that wait until others of their customer are through: they come back one after the other, whichever campaign they are of. */
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

  /** Undefined: others needed the memory. */
  get edition(): Edition | undefined {
    return this.#edition;
  }

  /** Batches that begin from now on send this one. */
  use(edition: Edition | undefined): void {
    this.#edition = edition;
    if (edition) this.refusals.believesBounces = edition.believesRefusals;
  }

  /** The recorder that all jobs of this process share for a server: their writes become one. */
  recorder(ctx: Context, by: { serverId: bigint; holder: Leaseholder }): OutcomeRecorder {
    const known = this.#recorders.get(by.serverId);
    if (known) return known;
    const recorder = createOutcomeRecorder(ctx.database, ctx.log, { key: this.key, ...by });
    this.#recorders.set(by.serverId, recorder);
    return recorder;
  }
}

/** A campaign and its message as one batch sends it. */
export interface CampaignInHand {
  readonly campaign: ActiveCampaign;
  readonly edition: Edition;
}

/** The campaigns that a process is sending. */
export interface ActiveCampaigns {
  /** The campaign, ready to be sent; undefined when it is not being sent (paused, deleted, done, waiting for its plan). */
  take(ctx: TakeContext, key: CampaignKey): Promise<CampaignInHand | undefined>;
  /** This process sends it no more: whoever takes it up again counts anew. */
  close(key: CampaignKey): void;
  /** Holds the range for the worker, and answers what to call to let go; or who is there already. */
  lockRange(workerId: string, range: LedgerRange): (() => void) | Refused;
}

/** The installation's secret opens the keys that sign. */
export type TakeContext = Pick<Context, 'db' | 'installation'>;

/** A compiled message holds its html several times over; more campaigns than this are rarely under way in one process. */
const EDITIONS_MAX = 20;
/** Files of messages count with their encoded bytes: a process has 250 MB for everything. */
const EDITION_BYTES_MAX = 67_108_864;
/** Without their messages they are small. One that another process finished is closed when so many are newer. */
const CAMPAIGNS_MAX = 1_000;

/** None yet. */
export function createActiveCampaigns(): ActiveCampaigns {
  /** The one that was taken up longest ago comes first. */
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
      const campaign = campaigns.get(key.campaignId);
      if (head?.status !== 'sending') {
        // One that waits for a time goes on by itself, with all that was counted.
        if (head?.status !== 'waiting') campaigns.delete(key.campaignId);
        return undefined;
      }
      if (campaign?.edition?.version === head.version) return { campaign, edition: campaign.edition };
      const underWay = loading.get(key.campaignId);
      if (underWay?.version === head.version) return underWay.campaign;
      const loaded = load(ctx, key, head.version);
      loading.set(key.campaignId, { version: head.version, campaign: loaded });
      return loaded;
    },
    close: ({ campaignId }) => void campaigns.delete(campaignId),
    lockRange: (workerId, range) => ranges.hold(workerId, range),
  };
}

/** Forgets the messages, and then the campaigns, that were loaded longest ago; never the last one. */
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
