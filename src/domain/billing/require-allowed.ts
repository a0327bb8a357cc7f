/**
 * Checks for features that a plan may exclude: `requireAllowed(ctx, 'list_import')`. And `requireRunningPlan` for what only a
 * running plan continues (sending).
 */
import type { Queryable } from '../../db/database.ts';
import { viewerOf, type Context } from '../context.ts';
import { notIncluded, subscriptionEnded } from './allowance-errors.ts';
import { allowanceOf } from './allowance.ts';

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
 * WrongStateError `SUBSCRIPTION_ENDED`.
 */
export async function requireAllowed(ctx: Context, feature: PlanFeature): Promise<void> {
  const { source, options } = await allowanceOf(ctx.db, viewerOf(ctx).customerId);
  if (options[feature] === 'no') throw notIncluded(FEATURES[feature].what);
  if (source === 'ended' && !FEATURES[feature].isReading) throw subscriptionEnded();
}

/** Throws WrongStateError `SUBSCRIPTION_ENDED` when the customer had a plan and has none any more. */
export async function requireRunningPlan(db: Queryable, customerId: bigint): Promise<void> {
  if ((await allowanceOf(db, customerId)).source === 'ended') throw subscriptionEnded();
}
