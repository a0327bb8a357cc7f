/** Another plan for a subscription that a vendor keeps: from the next period on, when the vendor takes the money for it. */
import { messageOf } from '../../../lib/errors.ts';
import { GatewayError } from '../../../plugin-api/index.ts';
import { changeRemotePlanJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { onHold, planUnchanged } from '../billing-errors.ts';
import { recordEvent, type BillingWork } from '../billing-work.ts';
import type { PlanChange } from '../create-subscription.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { findPaymentByUid } from '../payment-store.ts';
import { planById } from '../plan-store.ts';
import type { Plan } from '../plan.ts';
import { findSubscription } from '../subscription-store.ts';
import type { Subscription } from '../subscription.ts';
import { readRemote } from './remote-answers.ts';
import { newPeriodDiffers, newPlanNotLinked, remoteNotKnownYet } from './remote-errors.ts';
import { findLink } from './remote-plan-store.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';
import { findRemote, noteRemote, wantPlan, type Remote, type RemoteKey } from './remote-subscription-store.ts';
import { applyFound } from './apply-found-remote.ts';

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
  const link = await findLink(db, { planId: plan.id, gatewayId: remote.gatewayId });
  if (!link) throw newPlanNotLinked(plan.name);
  const present = await planById(db, running.planId);
  if (!isSamePeriod(present, plan)) throw newPeriodDiffers(plan.name);
  const isBack = plan.id === running.planId;
  await wantPlan(db, remote, isBack ? null : plan.id);
  const note = isBack ? null : `To ${plan.name}, with the next period that the vendor takes the money for.`;
  await recordEvent(work, running, { event: isBack ? 'change_withdrawn' : 'change_requested', note });
  const payload = { customerId: String(remote.customerId), remoteId: String(remote.id) };
  await enqueue(db, changeRemotePlanJob, payload, { key: `change-remote-plan:${remote.id}` });
  return { subscription: running, due: null };
}

function isSamePeriod(one: Plan, other: Plan): boolean {
  return (
    one.frequencyAmount === other.frequencyAmount &&
    one.frequencyUnit === other.frequencyUnit &&
    one.currencyCode === other.currencyCode
  );
}

/** The job. Rejects when the vendor cannot be asked: the queue tries again. What the vendor refuses is noted for the administrator. */
export async function changeRemotePlan(ctx: Context, key: RemoteKey): Promise<void> {
  const row = await findRemote(ctx.db, key);
  const wanted = row && !row.isEnded ? await wantedAtVendor(ctx, row) : undefined;
  if (!row || wanted === undefined || wanted === row.remotePlanId) return;
  if (await installationHold(ctx.db)) throw onHold();
  const [open, payment] = [await gatewayOf(ctx, row), await findPaymentByUid(ctx.db, row.intentUid)];
  if (!payment || !open?.can('updateRemoteSubscriptionPlan'))
    throw new Error('The plugin of its payment gateway is not active.');
  try {
    const answered = await open.call(async (service) => service.updateRemoteSubscriptionPlan?.(row.remoteId, wanted));
    const remote = readRemote([ctx, open], answered);
    await applyFound(ctx, open, { payment, remote });
    if (remote.planId !== wanted)
      await note(ctx, row, 'The vendor has not changed the plan: the payer must agree to it there first.');
  } catch (error) {
    await note(ctx, row, `The vendor has not changed the plan: ${messageOf(error)}`);
    if (!(error instanceof GatewayError) || error.kind !== 'refused') throw error;
  }
}

async function note(ctx: Context, row: Remote, error: string): Promise<void> {
  ctx.log.error('billing.remote_plan_not_changed', { remote: row.remoteId, message: error });
  await noteRemote(ctx.db, row, { error, nextSyncAt: ctx.clock.now() });
}

/** The vendor's plan that it should have by now; undefined: that of ours is not linked. */
async function wantedAtVendor({ db }: Context, row: Remote): Promise<string | undefined> {
  const { customerId, subscriptionId: id, gatewayId } = row;
  const subscription = await findSubscription(db, { customerId, id });
  const planId = row.wantedPlanId ?? subscription?.planId;
  const link = planId === undefined ? undefined : await findLink(db, { planId, gatewayId });
  return link?.remotePlanId;
}
