/** A batch: a range of a campaign's ledger that one job sends. Types for all who work on it. */
import type { Allowance } from '../../billing/plans/allowance.ts';
import type { DriverPool } from '../../sending/driver-pool.ts';
import type { SourceKey } from '../../source-key.ts';
import type { ActiveCampaigns } from './active-campaign.ts';

export interface SendingTools {
  readonly drivers: DriverPool;
  readonly campaigns: ActiveCampaigns;
  /** Announces that the source's counters changed. Must not throw and must be cheap. */
  readonly announce: (source: SourceKey) => void;
}

export interface Batch {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly fromId: bigint;
  readonly toId: bigint;
}

/** The process, and the tools that its jobs share. */
export interface BatchWorker extends SendingTools {
  readonly workerId: string;
  readonly abortSignal: AbortSignal;
}

/**
 * The limit of the customer's plan that was reached: the subscription, its credits, or its quota until a time. `held`: other jobs
 * hold the rest, and will send it or return it soon. `hours`: quiet hours.
 */
export interface PlanLimit {
  readonly limit: 'subscription' | 'credits' | 'quota' | 'held' | 'hours';
  readonly allowance: Allowance;
  /** Null: a person has to act first. */
  readonly until: Date | null;
}

/** A batch as the queue's JSON. */
export function jobPayload(batch: Batch): { customerId: string; campaignId: string; fromId: string; toId: string } {
  return {
    customerId: String(batch.customerId),
    campaignId: String(batch.campaignId),
    fromId: String(batch.fromId),
    toId: String(batch.toId),
  };
}
