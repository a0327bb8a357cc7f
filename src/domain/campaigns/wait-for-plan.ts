/**
 * A campaign whose customer reached a limit of its plan. Credits and quota return: it stays `sending`, shows until when it waits,
 * and continues automatically, sooner when the plan is changed. Without a running subscription it is paused. Nothing fails and no
 * worker sleeps (decision D37).
 */
import type { Queryable } from '../../db/database.ts';
import { databaseNow } from '../../db/now.ts';
import { wakeCampaignJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { allowanceOf, type Allowance } from '../billing/plans/allowance.ts';
import { inTransaction, type Context } from '../context.ts';
import type { PlanLimit } from '../delivery/campaigns/batch.ts';
import { remainingIn, sendUsage } from '../sending/send-budget-store.ts';
import { keepSendTime } from '../delivery/campaigns/send-time-store.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { beginWait, endWait, moveCampaign, PAUSABLE } from './campaign-state-store.ts';
import { findCampaignById } from './campaign-store.ts';
import { waitingCampaigns } from './campaign-wait-read-model.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import type { WaitReason } from './status-reason.ts';

/** A period may be over and its renewal some seconds late: checks are not more frequent than this. */
const WAIT_SECONDS_MIN = 30;
/**
 * Roughly the time in which a job sends a slice or returns it. One check per campaign and this time is enough. A quota has room again
 * bit by bit, and that of a minute soon.
 */
const SHORT_WAIT_SECONDS_MIN = 2;
/** The first batches may belong to running jobs; of so many some are free, and refused ones cost little. */
const BATCHES_TO_SPARE = 100;
/** Lets the campaign wait, or pauses it. One that was paused or finished meanwhile is not changed. */
export async function waitForPlan(ctx: Context, key: CampaignKey, limit: PlanLimit): Promise<void> {
  const kind = limit.limit;
  if (kind === 'subscription') return pauseWithoutPlan(ctx, key);
  const { customerId, campaignId } = key;
  await inTransaction(ctx, async ({ db }) => {
    const until = await endOfWaiting(db, limit);
    const waits = await beginWait(db, key, { reason: reasonFor(kind, limit.allowance), until });
    if (!waits || until === null) return;
    // Stored like a send time: no change of the plan ends it early.
    if (kind === 'hours') await keepSendTime(db, key, until);
    const payload = { customerId: String(customerId), campaignId: String(campaignId) };
    await enqueue(db, wakeCampaignJob, payload, { runAt: until, key: `campaigns.wake:${campaignId}` });
  });
}

/** Pauses campaigns under way, with the reason. */
export async function pauseWithoutPlan(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<void> {
  const campaign = { customerId, id: campaignId };
  const reason = { code: 'subscription_ended', params: {} } as const;
  await moveCampaign(ctx.db, campaign, { from: PAUSABLE, to: 'paused', reason });
}

/** Null: not known. A subscription without periods never gets new credits by itself. */
async function endOfWaiting(db: Queryable, { limit, until }: PlanLimit): Promise<Date | null> {
  if (limit !== 'held' && until === null) return null;
  const secondsMin = limit === 'held' || limit === 'quota' ? SHORT_WAIT_SECONDS_MIN : WAIT_SECONDS_MIN;
  const first = (await databaseNow(db)).getTime() + secondsMin * 1_000;
  return new Date(Math.max(until?.getTime() ?? 0, first));
}

function reasonFor(limit: Exclude<PlanLimit['limit'], 'subscription'>, { options }: Allowance): WaitReason {
  if (limit === 'held') return { code: 'budget_in_use', params: {} };
  if (limit === 'hours') return { code: 'quiet_hours', params: {} };
  if (limit === 'credits') return { code: 'credits', params: { emails: options.email_max } };
  const { sending_quota: emails, sending_quota_time: time, sending_quota_time_unit: unit } = options;
  return { code: 'sending_quota', params: { emails, time, unit } };
}

/** Continues a waiting campaign, with as many jobs as there are messages to send. */
export async function wakeCampaign(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, customerId, campaignId, { lock: true });
    if (!campaign || !(await endWait(tx.db, { customerId, campaignId }))) return;
    const remaining = await remainingOf(tx.db, customerId);
    // More jobs than the plan allows: some of them find nothing left, and let the campaign wait again.
    const { sendBatchSize } = tx.installation.limits;
    const batchesMax = remaining === null ? undefined : Math.ceil(remaining / sendBatchSize) + BATCHES_TO_SPARE;
    await enqueueOpenWork(tx, campaign, batchesMax);
  });
}

/** Wakes campaigns whose customers may send again early because the plan was changed. Returns their number. */
export async function wakeCampaigns(ctx: Context): Promise<number> {
  const waiting = await waitingCampaigns(ctx.db);
  const remainingByCustomer = new Map<bigint, number | null>();
  let woken = 0;
  for (const key of waiting) {
    const { customerId } = key;
    if (!remainingByCustomer.has(customerId))
      remainingByCustomer.set(customerId, await remainingOf(ctx.db, customerId));
    if (!key.isDue && remainingByCustomer.get(customerId) === 0) continue;
    await wakeCampaign(ctx, key);
    woken += 1;
  }
  return woken;
}

/**
 * Messages the customer may send now; null: unlimited. After the end of a subscription any number, so that its campaigns are
 * paused.
 */
async function remainingOf(db: Queryable, customerId: bigint): Promise<number | null> {
  const allowance = await allowanceOf(db, customerId);
  return allowance.source === 'plan' ? remainingIn(await sendUsage(db, customerId, allowance)) : null;
}
