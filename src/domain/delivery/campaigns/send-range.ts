/**
 * Sends what is due in one range through one server: as far as the customer's plan allows, and as the only job of its process.
 */
import { messageOf } from '../../../lib/errors.ts';
import type { Allowance } from '../../billing/plans/allowance.ts';
import type { Context } from '../../context.ts';
import type { SendingChannel } from '../../sending/driver-pool.ts';
import { leaseSends, returnLease, shrinkLease, type SendLease } from '../../sending/send-budget-store.ts';
import type { CampaignInHand } from './active-campaign.ts';
import type { BatchWorker, PlanLimit } from './batch.ts';
import { leaseRecipients, findRecipients } from './lease-recipients.ts';
import { RENEWALS_PER_LEASE, type LedgerRange } from '../ledger/delivery.ts';
import { parkOldUnknownOutcomes } from '../ledger/unknown-outcome-store.ts';
import { waitForFrequencyCap } from './wait-for-frequency-cap.ts';
import { waitForQuietHours } from './wait-for-quiet-hours.ts';
import { waitForPlugins } from './wait-for-plugins.ts';
import { releaseLeases, renewLeases } from '../ledger/ledger-store.ts';
import { recoverAmbiguous } from '../ledger/unknown-outcome-store.ts';
import { runSendingLoop, type LoopEnd } from './sending-loop.ts';

/** After this time a server's trouble is in the database. */
const HEALTH_KNOWN_SECONDS = 2;

/** Due rows that could not be taken are held by another worker for a moment. */
export const HELD_BY_OTHERS_SECONDS = 1;

export interface RangeWork extends CampaignInHand {
  readonly ctx: Context;
  readonly range: LedgerRange;
  readonly channel: SendingChannel;
  readonly worker: BatchWorker;
  readonly allowance: Allowance;
}

/**
 * The job of a range that another job of this process works on returns later; `covered`: it need not, because the other one
 * leaves a job for all that stays open.
 */
export async function sendRange(work: RangeWork): Promise<LoopEnd | PlanLimit | 'covered'> {
  const held = work.worker.campaigns.lockRange(work.worker.workerId, work.range);
  if (typeof held === 'object')
    return held.isCovered ? 'covered' : { reason: 'limited', waitSeconds: HELD_BY_OTHERS_SECONDS };
  try {
    return soonAgain(await sendAsPlanAllows(work));
  } finally {
    held();
  }
}

/**
 * A batch that was interrupted by a server's trouble tries again as soon as all processes know of it: another server may take the
 * mail. If none can, the job waits before anybody is leased.
 */
function soonAgain(end: LoopEnd | PlanLimit): LoopEnd | PlanLimit {
  if (!('reason' in end) || end.reason !== 'unavailable') return end;
  return { ...end, waitSeconds: Math.min(end.waitSeconds, HEALTH_KNOWN_SECONDS) };
}

/** Sends as much as the plan allows, and returns what prevents the rest. */
async function sendAsPlanAllows(work: RangeWork): Promise<LoopEnd | PlanLimit> {
  const { ctx, campaign, edition, range, worker, allowance } = work;
  const { sendAttemptsMax, sendBatchSize } = ctx.installation.limits;
  await recoverAmbiguous(ctx.db, range, { policy: edition.policy, attemptsMax: sendAttemptsMax });
  const { keySeconds, serverId } = work.channel;
  if (keySeconds !== undefined) await parkOldUnknownOutcomes(ctx.db, range, { serverId, keySeconds });
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
    await returnLease(ctx.db, range.customerId, { id: sliceId, allowance, isBroken });
  }
}

/** Sends at most `sendsMax` of what is due. */
async function sendWithin(work: RangeWork, sendsMax: number, sliceId: SendLease['sliceId'] = null): Promise<LoopEnd> {
  const { ctx, campaign, edition, range, channel, worker } = work;
  const holder = { owner: worker.workerId, leaseSeconds: ctx.installation.limits.sendLeaseSeconds };
  // A slice of a budget, and places within frequency caps, must be returned for what was not started, so their rows are leased; others need
  // not be.
  const isLeased = sliceId !== null || edition.caps !== null;
  const found = await (isLeased ? leaseRecipients : findRecipients)(ctx.db, range, holder);
  const awake = await waitForQuietHours(ctx.db, { campaign, edition, holder }, found);
  const asked = await waitForPlugins(ctx, { campaign, edition, holder }, awake);
  const { allowed: claimed, ended } = await waitForFrequencyCap(ctx, { campaign, edition, holder }, asked);
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
    await ended();
    if (isLeased) await releaseLeases(ctx.db, range, holder.owner);
    worker.announce(range);
  }
}
