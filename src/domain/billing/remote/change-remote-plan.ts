/** Another plan for a subscription that a vendor keeps: from the next period on, when the vendor takes the money for it. */
import { messageOf } from '../../../lib/errors.ts';
import { GatewayError } from '../../../plugin-api/index.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { onHold, planUnchanged } from '../billing-errors.ts';
import { recordEvent, type BillingWork } from '../billing-work.ts';
import type { PlanChange } from '../subscriptions/create-subscription.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { findPaymentByUid } from '../payments/payment-store.ts';
import { planById } from '../plans/plan-store.ts';
import type { Plan } from '../plans/plan.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import type { Subscription } from '../subscriptions/subscription.ts';
import { readRemote } from './remote-answers.ts';
import { newPeriodDiffers, newPlanNotLinked, PLAN_NOT_CHANGED, remoteNotKnownYet } from './remote-errors.ts';
import { findLink } from './remote-plan-store.ts';
import { planAtVendor } from './remote-price.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';
import { findRemote, noteRemote, wantPlan, type Remote, type RemoteKey } from './remote-subscription-store.ts';
import { applyFound } from './apply-found-remote.ts';
import { enqueuePlanChange, enqueuePlanChangeAgain, wantedAtVendor } from './wanted-remote-plan.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Asks the vendor for the other plan; undefined: no vendor keeps this subscription. The present plan withdraws such a request. Throws
 * WrongStateError `REMOTE_PLAN_NOT_LINKED`, `REMOTE_PERIOD_DIFFERS`, `REMOTE_SUBSCRIPTION_NOT_KNOWN`, `PLAN_UNCHANGED`.
 */
export async function requestRemotePlan(
  work: BillingWork,
  running: Subscription,
  plan: Plan,
): Promise<PlanChange | undefined> {
  const { db } = work.ctx;
  const inForce = running.status === 'active' ? await remoteInForce(db, running) : undefined;
  if (!inForce) return undefined;
  const { remote, begunAt } = inForce;
  if (!remote) {
    const isFresh = begunAt === null || work.at.getTime() - begunAt.getTime() < DAY_MS;
    if (isFresh && plan.id !== running.planId) throw remoteNotKnownYet();
    return undefined;
  }
  if (plan.id === running.planId && remote.wantedPlanId === null) throw planUnchanged();
  const atVendor = await planAtVendor(db, remote);
  const link = await findLink(db, { planId: plan.id, gatewayId: remote.gatewayId });
  const isBack = plan.id === running.planId;
  // What the vendor has, or has had for it, needs neither a link nor the period that the plan has now.
  if (atVendor?.id !== plan.id && !(isBack && remote.agreedPlanId === plan.id)) {
    if (!link) throw newPlanNotLinked(plan.name);
    if (!isSamePeriod(atVendor ?? (await planById(db, running.planId)), plan)) throw newPeriodDiffers(plan.name);
  }
  await wantPlan(db, remote, isBack ? null : plan.id);
  const note = isBack ? null : `To ${plan.name}, with the next period that the vendor takes the money for.`;
  await recordEvent(work, running, { event: isBack ? 'change_withdrawn' : 'change_requested', note });
  await enqueuePlanChange(db, remote);
  return { subscription: running, due: null };
}

function isSamePeriod(one: Plan, other: Plan): boolean {
  return (
    one.frequencyAmount === other.frequencyAmount &&
    one.frequencyUnit === other.frequencyUnit &&
    one.currencyCode === other.currencyCode
  );
}

/**
 * The job. Rejects when the vendor cannot be asked: the queue tries again. What the vendor refuses is noted for the administrator, and asked again
 * each day. The money that is due at the vendor is that of the present plan: the change waits until it is counted.
 */
export async function changeRemotePlan(ctx: Context, key: RemoteKey): Promise<void> {
  const row = await findRemote(ctx.db, key);
  const wanted = row && !row.isEnded ? await wantedAtVendor(ctx.db, row) : undefined;
  if (!row || wanted === undefined) return;
  await enqueuePlanChangeAgain(ctx.db, row, ctx.clock.now());
  if (await installationHold(ctx.db)) throw onHold();
  if (await isDue(ctx, row)) return;
  if (wanted.remotePlanId === undefined) return note(ctx, row, 'it is linked with no plan of the vendor any more.');
  await changeAtVendor(ctx, row, wanted.remotePlanId);
}

/** Whether a period has begun at the vendor that is not paid, or not counted here. */
async function isDue(ctx: Context, { customerId, subscriptionId: id, paidUntil }: Remote): Promise<boolean> {
  const subscription = await findSubscription(ctx.db, { customerId, id });
  return (subscription?.graceEndsAt ?? null) !== null || (paidUntil !== null && paidUntil <= ctx.clock.now());
}

async function changeAtVendor(ctx: Context, row: Remote, wanted: string): Promise<void> {
  const [open, payment] = [await gatewayOf(ctx, row), await findPaymentByUid(ctx.db, row.intentUid)];
  try {
    if (!payment || !open?.can('updateRemoteSubscriptionPlan'))
      throw new Error('The plugin of its payment gateway is not active.');
    const answered = await open.call(async (service) => service.updateRemoteSubscriptionPlan?.(row.remoteId, wanted));
    const remote = readRemote([ctx, open], answered);
    await applyFound(ctx, open, { payment, remote });
    if (remote.planId !== wanted) await note(ctx, row, 'the payer must agree to it there first.');
  } catch (error) {
    await note(ctx, row, messageOf(error));
    if (!(error instanceof GatewayError) || error.kind !== 'refused') throw error;
  }
}

/** Shown until the vendor has the plan. */
async function note(ctx: Context, row: Remote, why: string): Promise<void> {
  const error = `${PLAN_NOT_CHANGED}: ${why}`;
  ctx.log.error('billing.remote_plan_not_changed', { remote: row.remoteId, message: error });
  await noteRemote(ctx.db, row, { error, nextSyncAt: ctx.clock.now() });
}
