/**
 * Checks for features that a plan may exclude: `requireAllowed(ctx, 'list_import')`. And `requireRunningPlan` for what needs a
 * running plan: sending.
 */
import type { Queryable } from '../../../db/database.ts';
import { viewerOf, type Context } from '../../context.ts';
import { notIncluded, withoutRunningPlan } from './allowance-errors.ts';
import { allowanceOf, mayPrepare, maySend, type Allowance } from './allowance.ts';

/** The end of the sentence "The plan does not include ...", and whether it is still allowed when the plan ended. */
const FEATURES = {
  list_import: { what: 'importing people into lists', isReading: false },
  list_export: { what: 'exporting lists', isReading: true },
  create_sending_domains: { what: 'sending domains', isReading: false },
  create_email_verification_servers: { what: 'own email verification servers', isReading: false },
} as const;
export type PlanFeature = keyof typeof FEATURES;

/**
 * Whether the caller's customer may do this. Throws ForbiddenError `PLAN_DOES_NOT_INCLUDE`; when it creates something,
 * WrongStateError `SUBSCRIPTION_ENDED` or `SUBSCRIPTION_REQUIRED`.
 */
export async function requireAllowed(ctx: Context, feature: PlanFeature): Promise<void> {
  const allowance = await allowanceOf(ctx.db, viewerOf(ctx).customerId);
  const { source, options } = allowance;
  if (options[feature] === 'no') throw notIncluded(FEATURES[feature].what);
  if (!mayPrepare(allowance) && !FEATURES[feature].isReading) throw withoutRunningPlan(source);
}

/** Throws WrongStateError `SUBSCRIPTION_PENDING`, `SUBSCRIPTION_ENDED` or `SUBSCRIPTION_REQUIRED` when nothing may be sent (D55). */
export async function requireRunningPlan(db: Queryable, customerId: bigint): Promise<void> {
  const allowance = await allowanceOf(db, customerId);
  if (!maySend(allowance)) throw withoutRunningPlan(allowance.source);
}

/** Throws WrongStateError `SUBSCRIPTION_ENDED` or `SUBSCRIPTION_REQUIRED` when nothing new may be made (D55). */
export async function requirePreparing(db: Queryable, customerId: bigint): Promise<Allowance> {
  const allowance = await allowanceOf(db, customerId);
  if (!mayPrepare(allowance)) throw withoutRunningPlan(allowance.source);
  return allowance;
}

/** Whether mails to other people may be sent for the customer now. */
export async function hasRunningPlan(db: Queryable, customerId: bigint): Promise<boolean> {
  return maySend(await allowanceOf(db, customerId));
}
