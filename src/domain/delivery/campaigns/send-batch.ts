/**
 * Sends what is due in one range of a campaign's ledger: reads it, hands messages over with as many in flight as the server
 * takes, and records outcomes while the next ones are marked. It never decides who is in the audience and never finishes a
 * campaign.
 */
import { sendBatchJob } from '../../../jobs/campaign-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { ValidationError } from '../../../lib/errors.ts';
import { allowanceOf, maySend } from '../../billing/plans/allowance.ts';
import type { Context } from '../../context.ts';
import { BATCH_WAIT_SECONDS_MAX, type GateStop } from '../../sending/routing/waiting.ts';
import { jobPayload, type Batch, type BatchWorker, type PlanLimit } from './batch.ts';
import { messageFault, type CampaignStop } from './campaign-stop.ts';
import { NO_SERVER_DELAY_SECONDS, type LedgerRange } from '../ledger/delivery.ts';
import { openWorkIn } from '../ledger/ledger-read-model.ts';
import { quietUntil } from './people-times-read-model.ts';
import { HELD_BY_OTHERS_SECONDS, sendRange, type RangeWork } from './send-range.ts';
import type { LoopEnd } from './sending-loop.ts';

/**
 * Why a batch ended; `settled`: nothing of it is open. At a limit of the plan the batch has no job any more: the whole campaign
 * waits, or is paused, and new jobs are made when it continues.
 */
export type BatchEnd = 'settled' | 'open' | 'not sending' | PlanLimit | CampaignStop;

/**
 * Processes the batch and returns whether it is settled. What stays open (deferred, held by others, interrupted) gets another
 * job, due when it can continue; a campaign that is not sending keeps its rows.
 */
export async function sendBatch(ctx: Context, batch: Batch, worker: BatchWorker): Promise<BatchEnd> {
  try {
    return await sendDueDeliveries(ctx, batch, worker);
  } catch (error) {
    // Compiling may fail now: a field of the list has another default, for example. Or one of its files is gone.
    if (!(error instanceof ValidationError)) throw error;
    worker.campaigns.close(batch);
    return { pauseFor: messageFault(error) };
  }
}

async function sendDueDeliveries(ctx: Context, batch: Batch, worker: BatchWorker): Promise<BatchEnd> {
  const inHand = await worker.campaigns.take(ctx, batch);
  if (!inHand) return 'not sending';
  const { campaign, edition } = inHand;
  const allowance = await allowanceOf(ctx.db, batch.customerId);
  if (!maySend(allowance)) return { limit: 'subscription', allowance, until: null };
  const quiet = edition.times && (await quietUntil(ctx.db, edition.times));
  if (quiet) return { limit: 'hours', allowance, until: quiet };
  const range: LedgerRange = { ...campaign.key, fromId: batch.fromId, toId: batch.toId };
  const channel = await worker.drivers.channelFor(ctx, batch.customerId, batch.campaignId);
  if (!channel) return followUp(ctx, batch, range, { reason: 'unavailable', waitSeconds: NO_SERVER_DELAY_SECONDS });
  const work = { ctx, ...inHand, range, channel, worker, allowance };
  // Checked before anybody is leased: leasing a batch and putting it back would be expensive.
  const denial = await channel.gate.denial(ctx, batch.customerId);
  const end = denial ? await unlessElsewhere(work, denial) : await sendRange(work);
  if (end === 'covered') return 'open';
  if ('limit' in end) return end;
  if (end.reason === 'pause' || end.reason === 'stopped') worker.campaigns.close(batch);
  if (end.reason === 'pause') return end;
  if (end.reason === 'unavailable' && 'message' in end && end.message !== undefined) {
    const { serverUid: server, serverName: name } = channel;
    ctx.log.warn('delivery.server_unavailable', { server, name, campaignId: batch.campaignId, message: end.message });
  }
  // If it was resumed meanwhile, its new jobs may have found the rows still leased here.
  if (end.reason === 'stopped' && !(await worker.campaigns.take(ctx, batch))) return 'not sending';
  if (end.reason !== 'paced') return followUp(ctx, batch, range, end);
  return followUp(ctx, batch, range, { ...end, waitSeconds: channel.line.placeInSeconds(end.waitSeconds) });
}

/** The server was chosen before its trouble was known: now another one may be chosen. */
async function unlessElsewhere({ ctx, campaign, channel, worker }: RangeWork, stop: GateStop): Promise<GateStop> {
  if (stop.reason !== 'unavailable') return stop;
  const { customerId, campaignId } = campaign.campaignKey;
  const next = await worker.drivers.channelAfresh(ctx, customerId, campaignId);
  return next && next.serverId !== channel.serverId ? { ...stop, waitSeconds: HELD_BY_OTHERS_SECONDS } : stop;
}

/** Enqueues a job for what is still open, for the time when it can continue. */
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
