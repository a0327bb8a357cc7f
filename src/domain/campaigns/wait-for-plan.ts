/**
 * A campaign whose customer reached a limit of its plan. Credits and quota come back: it stays `sending`, says until
 * when it waits, and goes on by itself, sooner when the plan is changed. Without a running subscription it is
 * paused. Nothing fails and no worker sleeps (decision D37).
 */
import { sql, type Queryable } from '../../db/database.ts';
import { wakeCampaignJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { assert } from '../../lib/errors.ts';
import { readableTime } from '../../lib/units.ts';
import { allowanceOf } from '../billing/allowance.ts';
import { inTransaction, type Context } from '../context.ts';
import type { PlanLimit } from '../delivery/send-batch.ts';
import { roomIn, sendUsage } from '../sending/send-budget.ts';
import { keepMoment } from '../delivery/waves.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { findCampaignById, moveCampaign } from './campaign-store.ts';
import { enqueueOpenWork } from './continue-campaign.ts';

/** A period may be over and its renewal late by some seconds: nobody asks more often than this. */
const WAIT_SECONDS_MIN = 30;
/** The time in which a job sends a slice or gives it back, roughly. One look in this time does for the whole campaign. */
const HELD_SECONDS = 2;
/** The first batches may be in the hands of jobs that run already; this many are not, and cost little when refused. */
const BATCHES_TO_SPARE = 100;
/** Stands for "nobody knows": a subscription without periods never gets new credits by itself. */
const NO_END = new Date('9999-12-31T00:00:00Z');

const SUBSCRIPTION_ENDED_REASON =
  'The subscription has ended. Assign a plan, then resume the campaign: it goes on where it stopped.';

/** Lets the campaign wait, or pauses it. One that was paused or finished meanwhile is left alone. */
export async function waitForPlan(ctx: Context, key: CampaignKey, limit: PlanLimit): Promise<void> {
  if (limit.limit === 'subscription') return pauseWithoutPlan(ctx, key);
  const { customerId, campaignId } = key;
  await inTransaction(ctx, async ({ db }) => {
    const waitsUntil = await endOfWaiting(db, limit);
    const waits = await db.execute(
      sql`UPDATE campaign SET waits_until = ${waitsUntil}, status_reason = ${reasonFor(limit, waitsUntil)}
           WHERE customer_id = ${customerId} AND id = ${campaignId} AND status = 'sending'`,
    );
    if (waits === 0 || waitsUntilKnown(waitsUntil) === null) return;
    // A moment like those of people: no change of the plan ends it before its time.
    if (limit.limit === 'hours') await keepMoment(db, key, waitsUntil);
    const payload = { customerId: String(customerId), campaignId: String(campaignId) };
    await enqueue(db, wakeCampaignJob, payload, { runAt: waitsUntil, key: `campaigns.wake:${campaignId}` });
  });
}

/** Pauses what is under way, and says why. */
export async function pauseWithoutPlan(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<void> {
  const campaign = { customerId, id: campaignId };
  const from = ['scheduled', 'queued', 'sending'] as const;
  await moveCampaign(ctx.db, { campaign, from, to: 'paused', reason: SUBSCRIPTION_ENDED_REASON });
}

async function endOfWaiting(db: Queryable, { limit, until }: PlanLimit): Promise<Date> {
  const secondsMin = limit === 'held' ? HELD_SECONDS : WAIT_SECONDS_MIN;
  const at = limit === 'held' ? null : (until ?? NO_END);
  const [row] = await db.query<{ at: Date }>(
    sql`SELECT greatest(${at}::timestamptz, now() + make_interval(secs => ${secondsMin}::float8))::timestamptz(3) AS at`,
  );
  assert(row, 'the time is always known');
  return row.at;
}

function reasonFor({ limit, allowance, until }: PlanLimit, waitsUntil: Date): string | null {
  if (limit === 'held') return null;
  if (limit === 'hours') return `These are quiet hours: sending goes on at ${readableTime(waitsUntil)}.`;
  const { email_max, sending_quota, sending_quota_time, sending_quota_time_unit } = allowance.options;
  const plural = sending_quota_time === '1' ? '' : 's';
  const what =
    limit === 'credits'
      ? `The ${email_max} emails of the plan's billing period are used up`
      : `The plan's sending quota of ${sending_quota} emails in ${sending_quota_time} ${sending_quota_time_unit}${plural} is used up`;
  if (until === null) return `${what}: sending goes on when the plan allows more.`;
  return `${what}: sending goes on at ${readableTime(waitsUntil)}.`;
}

/** When a waiting campaign goes on; null: it does not wait, or nobody knows. */
export function waitsUntilKnown(waitsUntil: Date | null): Date | null {
  return waitsUntil !== null && waitsUntil.getTime() < NO_END.getTime() ? waitsUntil : null;
}

/** Lets a waiting campaign go on, with as many jobs as there is something to send for. */
export async function wakeCampaign(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, customerId, campaignId, { lock: true });
    const woken = await tx.db.execute(
      sql`UPDATE campaign SET waits_until = NULL, status_reason = NULL
           WHERE customer_id = ${customerId} AND id = ${campaignId} AND status = 'sending' AND waits_until IS NOT NULL`,
    );
    if (!campaign || woken === 0) return;
    const room = await roomOf(tx.db, customerId);
    // More than there is room for: some of them find out that there is no more, and let the campaign wait again.
    const { sendBatchSize } = tx.installation.limits;
    const batchesMax = room === null ? undefined : Math.ceil(room / sendBatchSize) + BATCHES_TO_SPARE;
    await enqueueOpenWork(tx, campaign, batchesMax);
  });
}

/** Wakes the campaigns whose customers may send again before their time: the plan was changed. Answers how many. */
export async function wakeCampaigns(ctx: Context): Promise<number> {
  const waiting = await ctx.db.query<CampaignKey & { isDue: boolean }>(
    sql`SELECT customer_id AS "customerId", id AS "campaignId", waits_until <= now() AS "isDue" FROM campaign c
         WHERE status = 'sending' AND waits_until IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM hot.campaign_wave w WHERE w.customer_id = c.customer_id AND w.campaign_id = c.id AND w.at = c.waits_until)
         ORDER BY customer_id, id`,
  );
  const rooms = new Map<bigint, number | null>();
  let woken = 0;
  for (const key of waiting) {
    const { customerId } = key;
    if (!rooms.has(customerId)) rooms.set(customerId, await roomOf(ctx.db, customerId));
    if (!key.isDue && rooms.get(customerId) === 0) continue;
    await wakeCampaign(ctx, key);
    woken += 1;
  }
  return woken;
}

/** Messages the customer may send now; null: any number. An ended subscription counts as room: its campaigns are then paused. */
async function roomOf(db: Queryable, customerId: bigint): Promise<number | null> {
  const allowance = await allowanceOf(db, customerId);
  return allowance.source === 'plan' ? roomIn(await sendUsage(db, customerId, allowance)) : null;
}
