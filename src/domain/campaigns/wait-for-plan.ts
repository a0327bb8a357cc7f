/**
 * A campaign whose customer reached a limit of its plan. Credits and quota come back: it stays `sending`, says until
 * when it waits, and goes on by itself, sooner when the plan is changed. Without a running subscription it is
 * paused. Nothing fails and no worker sleeps (decision D37).
 */
import type { Queryable } from '../../db/database.ts';
import { databaseNow } from '../../db/now.ts';
import { wakeCampaignJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { allowanceOf, type Allowance } from '../billing/allowance.ts';
import { inTransaction, type Context } from '../context.ts';
import type { PlanLimit } from '../delivery/batch.ts';
import { remainingIn, sendUsage } from '../sending/send-budget.ts';
import { keepSendTime } from '../delivery/send-time-store.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { beginWait, endWait, moveCampaign, PAUSABLE } from './campaign-state-store.ts';
import { findCampaignById } from './campaign-store.ts';
import { waitingCampaigns } from './campaign-wait-read-model.ts';
import { enqueueOpenWork } from './continue-campaign.ts';
import type { WaitReason } from './status-reason.ts';

/** A period may be over and its renewal late by some seconds: nobody asks more often than this. */
const WAIT_SECONDS_MIN = 30;
/** The time in which a job sends a slice or gives it back, roughly. One look in this time does for the whole campaign. */
const HELD_SECONDS = 2;
/** The first batches may be in the hands of jobs that run already; this many are not, and cost little when refused. */
const BATCHES_TO_SPARE = 100;
/** Lets the campaign wait, or pauses it. One that was paused or finished meanwhile is left alone. */
export async function waitForPlan(ctx: Context, key: CampaignKey, limit: PlanLimit): Promise<void> {
  const kind = limit.limit;
  if (kind === 'subscription') return pauseWithoutPlan(ctx, key);
  const { customerId, campaignId } = key;
  await inTransaction(ctx, async ({ db }) => {
    const until = await endOfWaiting(db, limit);
    const waits = await beginWait(db, key, { reason: reasonFor(kind, limit.allowance), until });
    if (!waits || until === null) return;
    // A moment like those of people: no change of the plan ends it before its time.
    if (kind === 'hours') await keepSendTime(db, key, until);
    const payload = { customerId: String(customerId), campaignId: String(campaignId) };
    await enqueue(db, wakeCampaignJob, payload, { runAt: until, key: `campaigns.wake:${campaignId}` });
  });
}

/** Pauses what is under way, and says why. */
export async function pauseWithoutPlan(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<void> {
  const campaign = { customerId, id: campaignId };
  const reason = { code: 'subscription_ended', params: {} } as const;
  await moveCampaign(ctx.db, campaign, { from: PAUSABLE, to: 'paused', reason });
}

/** Null: nobody knows. A subscription without periods never gets new credits by itself. */
async function endOfWaiting(db: Queryable, { limit, until }: PlanLimit): Promise<Date | null> {
  if (limit !== 'held' && until === null) return null;
  const secondsMin = limit === 'held' ? HELD_SECONDS : WAIT_SECONDS_MIN;
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

/** Lets a waiting campaign go on, with as many jobs as there is something to send for. */
export async function wakeCampaign(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, customerId, campaignId, { lock: true });
    if (!campaign || !(await endWait(tx.db, { customerId, campaignId }))) return;
    const remaining = await remainingOf(tx.db, customerId);
    // More than there is space for: some of them find out that there is no more, and let the campaign wait again.
    const { sendBatchSize } = tx.installation.limits;
    const batchesMax = remaining === null ? undefined : Math.ceil(remaining / sendBatchSize) + BATCHES_TO_SPARE;
    await enqueueOpenWork(tx, campaign, batchesMax);
  });
}

/** Wakes the campaigns whose customers may send again before their time: the plan was changed. Answers how many. */
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

/** Messages the customer may send now; null: any number. An ended subscription counts as space: its campaigns are then paused. */
async function remainingOf(db: Queryable, customerId: bigint): Promise<number | null> {
  const allowance = await allowanceOf(db, customerId);
  return allowance.source === 'plan' ? remainingIn(await sendUsage(db, customerId, allowance)) : null;
}
