/** A batch: a range of a campaign's ledger that one job sends. The words of those who work on it. */
import type { Allowance } from '../billing/allowance.ts';
import type { DriverPool } from '../sending/driver-pool.ts';
import type { SourceKey } from '../source-key.ts';
import type { ActiveCampaigns } from './active-campaign.ts';

export interface SendingTools {
  readonly drivers: DriverPool;
  readonly campaigns: ActiveCampaigns;
  /** Tells whoever watches that the source's counters moved. Must not throw and must be cheap. */
  readonly announce: (source: SourceKey) => void;
}

export interface Batch {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly fromId: bigint;
  readonly toId: bigint;
}

/** The process that works, and the tools its jobs share. */
export interface BatchWorker extends SendingTools {
  readonly workerId: string;
  readonly abortSignal: AbortSignal;
}

/**
 * What of the customer's plan is used up: the subscription itself, its credits, or its quota until a time. `held`: the
 * rest of them is in the hands of other jobs, which soon send it or give it back. `hours`: these are quiet ones.
 */
export interface PlanLimit {
  readonly limit: 'subscription' | 'credits' | 'quota' | 'held' | 'hours';
  readonly allowance: Allowance;
  /** Null: somebody has to act first. */
  readonly until: Date | null;
}

/** A batch as the queue's JSON holds it. */
export function jobPayload(batch: Batch): { customerId: string; campaignId: string; fromId: string; toId: string } {
  return {
    customerId: String(batch.customerId),
    campaignId: String(batch.campaignId),
    fromId: String(batch.fromId),
    toId: String(batch.toId),
  };
}
