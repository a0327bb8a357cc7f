/** The plan that a vendor's subscription should have by now, and the job that asks the vendor for it. */
import type { Queryable } from '../../../db/database.ts';
import { changeRemotePlanJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import { PLAN_NOT_CHANGED } from './remote-errors.ts';
import { findLink } from './remote-plan-store.ts';
import { planAtVendor } from './remote-price.ts';
import type { Remote, RemoteKey } from './remote-subscription-store.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

export interface WantedPlan {
  /** The vendor's id; undefined: the plan is not linked any more, and was not the one before. */
  readonly remotePlanId: string | undefined;
}

/** Undefined: the vendor takes the money for that plan, at whatever price. */
export async function wantedAtVendor(db: Queryable, row: Remote): Promise<WantedPlan | undefined> {
  const { customerId, subscriptionId: id, gatewayId } = row;
  const planId = row.wantedPlanId ?? (await findSubscription(db, { customerId, id }))?.planId;
  if (planId === undefined || (await planAtVendor(db, row))?.id === planId) return undefined;
  // Back to the plan of before: at its price, though the plan may be linked with a dearer one by now.
  if (planId === row.agreedPlanId && row.agreedRemotePlanId !== null) return { remotePlanId: row.agreedRemotePlanId };
  return { remotePlanId: (await findLink(db, { planId, gatewayId }))?.remotePlanId };
}

export async function enqueuePlanChange(db: Queryable, key: RemoteKey): Promise<void> {
  await enqueue(db, changeRemotePlanJob, payloadOf(key), { key: `change-remote-plan:${key.id}` });
}

/** In a day: the vendor may refuse now, or be away for longer than the tries of the job. */
export async function enqueuePlanChangeAgain(db: Queryable, key: RemoteKey, now: Date): Promise<void> {
  const runAt = new Date(now.getTime() + DAY_MS);
  await enqueue(db, changeRemotePlanJob, payloadOf(key), { key: `change-remote-plan-again:${key.id}`, runAt });
}

/** Why the plan has not been changed, as long as that is so. */
export async function planErrorOf(db: Queryable, row: Remote): Promise<string | null> {
  if (!row.error?.startsWith(PLAN_NOT_CHANGED)) return null;
  return (await wantedAtVendor(db, row)) === undefined ? null : row.error;
}

function payloadOf({ customerId, id }: RemoteKey) {
  return { customerId: String(customerId), remoteId: String(id) };
}
