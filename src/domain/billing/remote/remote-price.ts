/** Which of our plans a vendor's period pays for, and at which price: the vendor's plan may have been linked, unlinked, or changed meanwhile. */
import type { Queryable } from '../../../db/database.ts';
import { currencyByCode } from '../currencies.ts';
import { readableMoney, type Money } from '../money.ts';
import { planById } from '../plans/plan-store.ts';
import type { Plan } from '../plans/plan.ts';
import type { Subscription } from '../subscriptions/subscription.ts';
import type { ReadRemote } from './remote-answers.ts';
import { findLinkOf, findRetired, type RetiredRemotePlan } from './remote-plan-store.ts';
import type { Remote } from './remote-subscription-store.ts';

export interface RemotePrice {
  /** With the price and the period that it has at the vendor. */
  readonly plan: Plan;
  /** What was taken for a period; undefined: nobody knows, and the period waits. */
  readonly taken: Money | undefined;
  /** What of it was paid back. */
  readonly refundedMinor: bigint;
  /** Why the period does not pay the plan. */
  readonly mismatch: string | undefined;
  /** It is the plan that the vendor has now, at its present price. */
  readonly isAtVendor: boolean;
}

/** What the vendor's present period pays for. */
export async function priceAtVendor(
  db: Queryable,
  { row, remote, subscription }: { row: Remote; remote: ReadRemote; subscription: Subscription },
): Promise<RemotePrice> {
  const known = await planAtVendor(db, row);
  const present = await planById(db, subscription.planId);
  const { periodPayment } = remote;
  if (!periodPayment) {
    if (known || periodPayment === null)
      return {
        ...{ plan: known ?? present, taken: priceOf(known ?? present), refundedMinor: 0n, mismatch: undefined },
        isAtVendor: known !== undefined,
      };
    return { plan: present, taken: undefined, refundedMinor: 0n, mismatch: unknownPlan(row), isAtVendor: false };
  }
  // The period may have begun before the vendor changed the plan. So it pays the plan of ours at any price that it had at this vendor.
  const earlier = await findRetired(db, { gatewayId: row.gatewayId, planId: present.id });
  const possible = [...(known ? [known] : []), present, ...earlier.map((terms) => atTerms(present, terms))];
  const taken: Money = { minor: periodPayment.amountMinor, currencyCode: periodPayment.currencyCode };
  const plan = possible.find((one) => one.priceMinor === taken.minor && one.currencyCode === taken.currencyCode);
  const { refundedMinor = 0n } = periodPayment;
  if (plan) return { plan, taken, refundedMinor, mismatch: undefined, isAtVendor: plan === known };
  // Our books have no other currencies, and no debts.
  const isMoney = currencyByCode(taken.currencyCode) !== undefined && taken.minor >= 0n;
  return {
    plan: known ?? present,
    taken: isMoney ? taken : undefined,
    refundedMinor,
    mismatch: otherPrice(known ?? present, periodPayment),
    isAtVendor: false,
  };
}

/**
 * Our plan that the vendor takes the money for, as it was linked; undefined: it was never linked. A subscription keeps the plan that it was begun or
 * changed with, whatever the vendor's plan is linked with later, until its customer chooses that one.
 */
export async function planAtVendor(
  db: Queryable,
  { gatewayId, remotePlanId, ...row }: Remote,
): Promise<Plan | undefined> {
  if (remotePlanId === null) return undefined;
  const link = await findLinkOf(db, { gatewayId, remotePlanId });
  if (row.agreedPlanId !== null && row.agreedRemotePlanId === remotePlanId && link?.planId !== row.wantedPlanId) {
    if (link?.planId === row.agreedPlanId) return planById(db, link.planId);
    const [agreed] = await findRetired(db, { gatewayId, remotePlanId, planId: row.agreedPlanId });
    if (agreed) return atTerms(await planById(db, agreed.planId), agreed);
  }
  if (link) return planById(db, link.planId);
  const [retired] = await findRetired(db, { gatewayId, remotePlanId });
  return retired && atTerms(await planById(db, retired.planId), retired);
}

function atTerms(plan: Plan, { planId: _, ...terms }: RetiredRemotePlan): Plan {
  return { ...plan, ...terms };
}

function priceOf({ priceMinor: minor, currencyCode }: Plan): Money {
  return { minor, currencyCode };
}

function otherPrice(plan: Plan, { amountMinor, currencyCode }: NonNullable<ReadRemote['periodPayment']>): string {
  const due = readableMoney(priceOf(plan));
  return `The vendor got ${amountMinor} ${currencyCode} (minor units) for a period of the plan "${plan.name}", which costs ${due}. It renews nothing: money of a later period than the first is kept as the customer's credit.`;
}

function unknownPlan({ remotePlanId }: Remote): string {
  return `The vendor's plan ${remotePlanId === null ? 'is not known' : `"${remotePlanId}" is linked with no plan`}, and the vendor does not say what was paid. Nothing is counted until the plan is linked.`;
}
