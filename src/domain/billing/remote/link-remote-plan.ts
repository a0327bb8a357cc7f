/** An administrator links a plan with a plan of a vendor: customers who pay it there begin a subscription that the vendor keeps. */
import { z } from 'zod';
import { messageOf } from '../../../lib/errors.ts';
import { parseInput } from '../../../lib/text.ts';
import { GatewayError, type RemotePlan } from '../../../plugin-api/index.ts';
import { endChecks, inTransaction, type Context } from '../../context.ts';
import { planNotFound } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { missingGatewayType, openGateway, type OpenGateway } from '../gateways/open-gateway.ts';
import { knownGateway } from '../gateways/save-gateway.ts';
import { readableMoney, type Money } from '../money.ts';
import { findPlan, planById } from '../plans/plan-store.ts';
import type { Plan } from '../plans/plan.ts';
import { readRemotePlans, REMOTE_ID_LENGTH_MAX } from './remote-answers.ts';
import {
  keepsNoSubscriptions,
  remotePlanDiffers,
  remotePlanNotLinked,
  remotePlanTaken,
  unknownRemotePlan,
  vendorFailed,
} from './remote-errors.ts';
import {
  deleteLink,
  findLinkOf,
  linksOfGateway,
  retireLink,
  writeLink,
  type RemotePlanLink,
} from './remote-plan-store.ts';

export const remotePlanInput = z.object({ remotePlanId: z.string().min(1).max(REMOTE_ID_LENGTH_MAX) });

/** None given is a fault of the field, not an unknown gateway. */
const ofGateway = z.object({ gatewayUid: z.string().min(1) });

export interface ListedRemotePlan extends RemotePlan {
  /** Our plan that it is linked with. */
  readonly linkedPlanId: bigint | null;
}

export interface PlanAtGateway {
  readonly gatewayUid: string;
  readonly planUid: string;
}

/** The plans that the vendor has now. Throws ValidationError `REMOTE_SUBSCRIPTIONS_UNSUPPORTED`; WrongStateError `PAYMENT_GATEWAY_FAILED`; NotFoundError. */
export async function remotePlans(
  ctx: Context,
  { gatewayUid }: { gatewayUid: string },
): Promise<readonly ListedRemotePlan[]> {
  requireAdministrator(ctx);
  const open = await openRemote(ctx, gatewayUid);
  const links = new Map(
    (await linksOfGateway(ctx.db, open.gateway.id)).map((link) => [link.remotePlanId, link.planId]),
  );
  return (await vendorsPlans(ctx, open)).map((plan) => ({ ...plan, linkedPlanId: links.get(plan.id) ?? null }));
}

/**
 * Links them; another link of the plan at this gateway is replaced. Throws ValidationError `REMOTE_PLAN_UNKNOWN`, `REMOTE_PLAN_DIFFERS` (which says
 * what differs), `REMOTE_PLAN_TAKEN`, and what `remotePlans` throws.
 */
export async function linkRemotePlan(
  ctx: Context,
  { gatewayUid, planUid, ...input }: PlanAtGateway & { remotePlanId: string },
): Promise<RemotePlanLink> {
  requireAdministrator(ctx);
  const { remotePlanId } = parseInput(remotePlanInput, input);
  const open = await openRemote(ctx, gatewayUid);
  if (!(await findPlan(ctx.db, planUid))) throw planNotFound();
  endChecks(ctx);
  const remote = (await vendorsPlans(ctx, open)).find(({ id }) => id === remotePlanId);
  if (!remote) throw unknownRemotePlan();
  return inTransaction(ctx, async (tx) => {
    const gateway = await knownGateway(tx, gatewayUid, true);
    const plan = await findPlan(tx.db, planUid, 'change');
    if (!plan) throw planNotFound();
    const differences = differencesOf(plan, remote);
    if (differences.length > 0) throw remotePlanDiffers(differences);
    const taken = await findLinkOf(tx.db, { gatewayId: gateway.id, remotePlanId });
    if (taken && taken.planId !== plan.id) throw remotePlanTaken((await planById(tx.db, taken.planId)).name);
    const link = { planId: plan.id, gatewayId: gateway.id, remotePlanId, remoteName: remote.name };
    await retireLink(tx.db, { ...link, nextId: remotePlanId });
    await writeLink(tx.db, link);
    return link;
  });
}

/** Subscriptions that the vendor keeps go on at the price that they have; nobody begins another one. Throws ValidationError; WrongStateError `REMOTE_PLAN_NOT_LINKED`; NotFoundError. */
export async function unlinkRemotePlan(ctx: Context, { planUid, ...input }: PlanAtGateway): Promise<PlanAtGateway> {
  requireAdministrator(ctx);
  const { gatewayUid } = parseInput(ofGateway, input);
  return inTransaction(ctx, async (tx) => {
    const gateway = await knownGateway(tx, gatewayUid);
    const plan = await findPlan(tx.db, planUid);
    if (!plan) throw planNotFound();
    const link = { planId: plan.id, gatewayId: gateway.id };
    await retireLink(tx.db, { ...link, nextId: null });
    if (!(await deleteLink(tx.db, link))) throw remotePlanNotLinked();
    return { gatewayUid, planUid };
  });
}

async function openRemote(ctx: Context, gatewayUid: string): Promise<OpenGateway> {
  const gateway = await knownGateway(ctx, gatewayUid);
  const open = openGateway(ctx, gateway);
  if (!open) throw vendorFailed(missingGatewayType(ctx, gateway.type) ?? '');
  if (!open.registration.isRemoteSubscription || !open.can('getRemotePlans')) throw keepsNoSubscriptions();
  return open;
}

async function vendorsPlans(ctx: Context, open: OpenGateway): Promise<readonly RemotePlan[]> {
  try {
    return readRemotePlans([ctx, open], await open.call(async (service) => service.getRemotePlans?.()));
  } catch (error) {
    if (error instanceof GatewayError) throw vendorFailed(messageOf(error));
    throw error;
  }
}

/** Every difference in a sentence. */
function differencesOf(plan: Plan, remote: RemotePlan): string[] {
  const ours: Money = { minor: plan.priceMinor, currencyCode: plan.currencyCode };
  const period = `${plan.frequencyAmount} ${plan.frequencyUnit}`;
  const theirs = `${remote.frequencyAmount} ${remote.frequencyUnit}`;
  return [
    ...(plan.currencyCode === remote.currencyCode
      ? []
      : [`The currency differs: ${plan.currencyCode} here, ${remote.currencyCode} at the vendor.`]),
    ...(plan.currencyCode !== remote.currencyCode || plan.priceMinor === remote.amountMinor
      ? []
      : [
          `The amount differs: ${readableMoney(ours)} here, ${readableMoney({ ...ours, minor: remote.amountMinor })} at the vendor.`,
        ]),
    ...(period === theirs ? [] : [`The period differs: ${period} here, ${theirs} at the vendor.`]),
  ];
}
