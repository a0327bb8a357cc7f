/**
 * Sends what is due in one range of a campaign's ledger: leases it, hands messages over with as many in flight as
 * the server takes, and records outcomes while the next ones are marked. It never decides who is in the audience
 * and never closes a campaign.
 */
import { enqueue } from '../../jobs/define-job.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import type { DriverPool, SendingChannel } from '../sending/driver-pool.ts';
import { quotaWaitSeconds } from '../sending/take-quota.ts';
import { claimRecipients } from './claim-recipients.ts';
import { NO_SERVER_DELAY_SECONDS, RENEWALS_PER_LEASE, type LedgerRange } from './delivery.ts';
import type { Dispatch, DispatchCache } from './dispatch.ts';
import { openWorkIn } from './ledger-read-model.ts';
import { recoverAmbiguous, releaseLeases, renewLeases } from './ledger-store.ts';
import { recorderOf } from './outcome-recorder.ts';
import { runSendingLoop, type LoopEnd } from './sending-loop.ts';

export interface SendingTools {
  readonly drivers: DriverPool;
  readonly dispatches: DispatchCache;
  /** Tells whoever watches that the campaign's counters moved. Must not throw and must be cheap. */
  readonly announce: (customerId: bigint, campaignId: bigint) => void;
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

/** Rows that are due and were not to be had are in another worker's hands for a moment. */
const HELD_BY_OTHERS_SECONDS = 1;

/** Why a batch ended; `settled` means that nothing of it is open any more. */
export type BatchEnd = 'settled' | 'open' | 'not sending';

/**
 * Works the batch off and answers whether it is settled. What stays open (deferred, held by others, interrupted) has
 * a job of its own again, due when it can go on; a campaign that is not sending keeps its rows for the day it is.
 */
export async function sendBatch(ctx: Context, batch: Batch, worker: BatchWorker): Promise<BatchEnd> {
  const dispatch = await worker.dispatches.dispatchOf(ctx.db, batch.customerId, batch.campaignId);
  if (!dispatch) return 'not sending';
  const range: LedgerRange = { ...dispatch.key, fromId: batch.fromId, toId: batch.toId };
  const channel = await worker.drivers.channelFor(ctx, batch.customerId);
  if (!channel) return followUp(ctx, batch, range, { reason: 'unavailable', waitSeconds: NO_SERVER_DELAY_SECONDS });
  const end = (await obstacleBefore(ctx, channel)) ?? (await workThrough({ ctx, dispatch, range, channel, worker }));
  // Resumed in the meantime, its new jobs may have found the rows still leased here.
  if (end.reason === 'stopped' && !(await worker.dispatches.dispatchOf(ctx.db, batch.customerId, batch.campaignId)))
    return 'not sending';
  return followUp(
    ctx,
    batch,
    range,
    end.reason === 'paced' ? { ...end, waitSeconds: channel.turns.nextInSeconds(end.waitSeconds) } : end,
  );
}

/** What is known to be in the way before anybody is leased: to lease a batch and put it back is the dearest way to find out. */
async function obstacleBefore(
  ctx: Context,
  { serverId, quota, trouble }: SendingChannel,
): Promise<LoopEnd | undefined> {
  const troubleSeconds = trouble.remainingSeconds();
  if (troubleSeconds > 0) return { reason: 'unavailable', waitSeconds: troubleSeconds };
  const waitSeconds = quota ? await quotaWaitSeconds(ctx.db, { serverId, quota }) : 0;
  return waitSeconds > 0 ? { reason: 'paced', waitSeconds } : undefined;
}

interface Work {
  readonly ctx: Context;
  readonly dispatch: Dispatch;
  readonly range: LedgerRange;
  readonly channel: SendingChannel;
  readonly worker: BatchWorker;
}

async function workThrough({ ctx, dispatch, range, channel, worker }: Work): Promise<LoopEnd> {
  const holder = { owner: worker.workerId, leaseSeconds: ctx.installation.limits.sendLeaseSeconds };
  await recoverAmbiguous(ctx.db, range, {
    policy: dispatch.policy,
    attemptsMax: ctx.installation.limits.sendAttemptsMax,
  });
  const claimed = await claimRecipients(ctx.db, range, { listId: dispatch.listId, holder });
  if (claimed.length === 0) return { reason: 'finished' };
  const renewal = setInterval(
    () => {
      renewLeases(ctx.db, range, holder).catch((error: unknown) =>
        ctx.log.warn('delivery.renewal_failed', { message: messageOf(error) }),
      );
    },
    (holder.leaseSeconds * 1_000) / RENEWALS_PER_LEASE,
  );
  const recorder = recorderOf(ctx, dispatch, { serverId: channel.serverId, holder });
  try {
    return await runSendingLoop({
      ctx,
      dispatch,
      channel,
      recorder,
      claimed,
      abortSignal: worker.abortSignal,
      announce: worker.announce,
    });
  } finally {
    clearInterval(renewal);
    await releaseLeases(ctx.db, range, holder.owner);
    worker.announce(range.customerId, range.campaignId);
  }
}

/** Whatever is still open gets a job for the time when it can go on. */
async function followUp(ctx: Context, batch: Batch, range: LedgerRange, end: LoopEnd): Promise<BatchEnd> {
  const { open, dueInSeconds } = await openWorkIn(ctx.db, range);
  if (open === 0) return 'settled';
  const delaySeconds = Math.max(dueInSeconds ?? 0, waitAfter(end));
  if (end.reason === 'unavailable' && end.message !== undefined)
    ctx.log.warn('delivery.server_unavailable', { campaignId: batch.campaignId, message: end.message });
  await enqueue(ctx.db, sendBatchJob, jobPayload(batch), { delaySeconds });
  return 'open';
}

function waitAfter(end: LoopEnd): number {
  if (end.reason === 'unavailable' || end.reason === 'paced') return end.waitSeconds;
  return end.reason === 'finished' ? HELD_BY_OTHERS_SECONDS : 0;
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
