/**
 * Sends what is due in one range of a campaign's ledger: finds it, hands messages over with as many in flight as the
 * server takes, and records outcomes while the next ones are marked. It never decides who is in the audience
 * and never closes a campaign.
 */
import { enqueue } from '../../jobs/define-job.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { messageOf, ValidationError } from '../../lib/errors.ts';
import { allowanceOf, type Allowance } from '../billing/allowance.ts';
import type { Context } from '../context.ts';
import type { DriverPool, SendingChannel } from '../sending/driver-pool.ts';
import { BATCH_WAIT_SECONDS_MAX, type GateStop } from '../sending/routing/waiting.ts';
import { leaseSends, returnLease, shrinkLease, type SendLease } from '../sending/send-budget.ts';
import { messageFault, type CampaignStop } from './campaign-stop.ts';
import { claimRecipients, findRecipients } from './claim-recipients.ts';
import { NO_SERVER_DELAY_SECONDS, RENEWALS_PER_LEASE, type LedgerRange } from './delivery.ts';
import type { ActiveCampaigns, CampaignInHand } from './active-campaign.ts';
import { holdForQuiet } from './hold-for-quiet.ts';
import { quietUntil } from './people-times.ts';
import { openWorkIn } from './ledger-read-model.ts';
import { parkOldDoubts } from './doubts-at-vendor.ts';
import { recoverAmbiguous, releaseLeases, renewLeases } from './ledger-store.ts';
import { runSendingLoop, type LoopEnd } from './sending-loop.ts';

export interface SendingTools {
  readonly drivers: DriverPool;
  readonly campaigns: ActiveCampaigns;
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

/** The news of a server's trouble is in the database by then. */
const HEALTH_KNOWN_SECONDS = 2;

/** Rows that are due and were not to be had are in another worker's hands for a moment. */
const HELD_BY_OTHERS_SECONDS = 1;

/**
 * Why a batch ended; `settled` means that nothing of it is open any more. At a limit of the plan the batch is left
 * without a job: the whole campaign waits, or is paused, and whoever lets it go on makes new ones.
 */
export type BatchEnd = 'settled' | 'open' | 'not sending' | PlanLimit | CampaignStop;

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

/**
 * Works the batch off and answers whether it is settled. What stays open (deferred, held by others, interrupted) has
 * a job of its own again, due when it can go on; a campaign that is not sending keeps its rows for the day it is.
 */
export async function sendBatch(ctx: Context, batch: Batch, worker: BatchWorker): Promise<BatchEnd> {
  try {
    return await sendWhatIsDue(ctx, batch, worker);
  } catch (error) {
    // It may run away while it is compiled: a field of the list has another default by now. Or one of its files is gone.
    if (!(error instanceof ValidationError)) throw error;
    worker.campaigns.close(batch);
    return { pauseFor: messageFault(error) };
  }
}

async function sendWhatIsDue(ctx: Context, batch: Batch, worker: BatchWorker): Promise<BatchEnd> {
  const inHand = await worker.campaigns.take(ctx, batch);
  if (!inHand) return 'not sending';
  const { campaign, edition } = inHand;
  const allowance = await allowanceOf(ctx.db, batch.customerId);
  if (allowance.source === 'ended') return { limit: 'subscription', allowance, until: null };
  const quiet = edition.times && (await quietUntil(ctx.db, edition.times));
  if (quiet) return { limit: 'hours', allowance, until: quiet };
  const range: LedgerRange = { ...campaign.key, fromId: batch.fromId, toId: batch.toId };
  const channel = await worker.drivers.channelFor(ctx, batch.customerId, batch.campaignId);
  if (!channel) return followUp(ctx, batch, range, { reason: 'unavailable', waitSeconds: NO_SERVER_DELAY_SECONDS });
  const work = { ctx, ...inHand, range, channel, worker, allowance };
  // Asked before anybody is leased: to lease a batch and put it back is the dearest way to find out.
  const obstacle = await channel.gate.obstacle(ctx, batch.customerId);
  const end = obstacle ? await unlessElsewhere(work, obstacle) : await workAlone(work);
  if (end === 'covered') return 'open';
  if ('limit' in end) return end;
  if (end.reason === 'pause' || end.reason === 'stopped') worker.campaigns.close(batch);
  if (end.reason === 'pause') return end;
  if (end.reason === 'unavailable' && 'message' in end && end.message !== undefined) {
    const { serverUid: server, serverName: name } = channel;
    ctx.log.warn('delivery.server_unavailable', { server, name, campaignId: batch.campaignId, message: end.message });
  }
  // Resumed in the meantime, its new jobs may have found the rows still leased here.
  if (end.reason === 'stopped' && !(await worker.campaigns.take(ctx, batch))) return 'not sending';
  return followUp(
    ctx,
    batch,
    range,
    end.reason === 'paced' ? { ...end, waitSeconds: channel.line.placeInSeconds(end.waitSeconds) } : end,
  );
}

interface Work extends CampaignInHand {
  readonly ctx: Context;
  readonly range: LedgerRange;
  readonly channel: SendingChannel;
  readonly worker: BatchWorker;
  readonly allowance: Allowance;
}

/**
 * The job of a range that another job of this process is working on comes again later; `covered`: it need not, for the
 * other leaves a job for all that stays open.
 */
async function workAlone(work: Work): Promise<LoopEnd | PlanLimit | 'covered'> {
  const held = work.worker.campaigns.holdRange(work.worker.workerId, work.range);
  if (typeof held === 'object')
    return held.isCovered ? 'covered' : { reason: 'limited', waitSeconds: HELD_BY_OTHERS_SECONDS };
  try {
    return soonAgain(await workThrough(work));
  } finally {
    held();
  }
}

/** Chosen before its trouble was known: now that it is, another one may be chosen. */
async function unlessElsewhere({ ctx, range, channel, worker }: Work, stop: GateStop): Promise<GateStop> {
  if (stop.reason !== 'unavailable') return stop;
  const next = await worker.drivers.channelFor(ctx, range.customerId, range.campaignId);
  return next && next.serverId !== channel.serverId ? { ...stop, waitSeconds: HELD_BY_OTHERS_SECONDS } : stop;
}

/**
 * Whoever was in the middle when a server fell ill asks again as soon as all know how it stands: another one may carry
 * the mail. If none can, it is told to wait before anybody is taken.
 */
function soonAgain(end: LoopEnd | PlanLimit): LoopEnd | PlanLimit {
  if (!('reason' in end) || end.reason !== 'unavailable') return end;
  return { ...end, waitSeconds: Math.min(end.waitSeconds, HEALTH_KNOWN_SECONDS) };
}

/** Sends as much as the plan has left, and says what is in the way of the rest. */
async function workThrough(work: Work): Promise<LoopEnd | PlanLimit> {
  const { ctx, campaign, edition, range, worker, allowance } = work;
  const { sendAttemptsMax, sendBatchSize } = ctx.installation.limits;
  await recoverAmbiguous(ctx.db, range, { policy: edition.policy, attemptsMax: sendAttemptsMax });
  const { keySeconds, serverId } = work.channel;
  if (keySeconds !== undefined) await parkOldDoubts(ctx.db, range, { serverId, keySeconds });
  if (allowance.source === 'unlimited') return sendWithin(work, Infinity);
  const asked = { range, allowance, workerId: worker.workerId, wanted: sendBatchSize };
  const { sliceId, granted, refusal, quotaEndsAt } = await leaseSends(ctx.db, asked);
  if (refusal === 'credits') return { limit: 'credits', allowance, until: allowance.periodEndsAt };
  if (refusal === 'quota') return { limit: 'quota', allowance, until: quotaEndsAt };
  if (refusal === 'held') return { limit: 'held', allowance, until: null };
  if (refusal === 'processes') return { reason: 'limited', waitSeconds: campaign.line.placeInSeconds(1) };
  if (sliceId === null) return sendWithin(work, Infinity);
  let isBroken = true;
  try {
    const end = await sendWithin(work, granted, sliceId);
    isBroken = false;
    return end;
  } finally {
    await returnLease(ctx.db, range.customerId, { id: sliceId, isBroken });
  }
}

/** Sends at most `sendsMax` of what is due. */
async function sendWithin(work: Work, sendsMax: number, sliceId: SendLease['sliceId'] = null): Promise<LoopEnd> {
  const { ctx, campaign, edition, range, channel, worker } = work;
  const holder = { owner: worker.workerId, leaseSeconds: ctx.installation.limits.sendLeaseSeconds };
  // A slice of a budget must be able to take back what was not begun, so its rows are leased; others need not be.
  const find = sliceId === null ? findRecipients : claimRecipients;
  const found = await find(ctx.db, range, { listId: campaign.listId, holder });
  const claimed = await holdForQuiet(ctx.db, { campaign, edition, holder }, found);
  if (claimed.length === 0) return { reason: 'finished' };
  if (sliceId !== null && claimed.length < sendsMax)
    await shrinkLease(ctx.db, range.customerId, { id: sliceId, to: claimed.length });
  const renewal = setInterval(
    () => {
      renewLeases(ctx.db, range, holder).catch((error: unknown) =>
        ctx.log.warn('delivery.renewal_failed', { message: messageOf(error) }),
      );
    },
    (holder.leaseSeconds * 1_000) / RENEWALS_PER_LEASE,
  );
  const recorder = campaign.recorder(ctx, { serverId: channel.serverId, holder });
  try {
    return await runSendingLoop({
      ctx,
      campaign,
      edition,
      channel,
      recorder,
      claimed,
      sendsMax,
      abortSignal: worker.abortSignal,
      announce: worker.announce,
    });
  } finally {
    clearInterval(renewal);
    if (sliceId !== null) await releaseLeases(ctx.db, range, holder.owner);
    worker.announce(range.customerId, range.campaignId);
  }
}

/** Whatever is still open gets a job for the time when it can go on. */
async function followUp(ctx: Context, batch: Batch, range: LedgerRange, end: LoopEnd): Promise<BatchEnd> {
  const { open, dueInSeconds } = await openWorkIn(ctx.db, range);
  if (open === 0) return 'settled';
  const delaySeconds = Math.max(dueInSeconds ?? 0, waitAfter(end));
  await enqueue(ctx.db, sendBatchJob, jobPayload(batch), { delaySeconds });
  return 'open';
}

function waitAfter(end: LoopEnd): number {
  if (end.reason === 'unavailable') return Math.min(end.waitSeconds, BATCH_WAIT_SECONDS_MAX);
  if (end.reason === 'paced' || end.reason === 'limited') return end.waitSeconds;
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
