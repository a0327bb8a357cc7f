/** Which plans a caller sees: administrators all, others the active ones and those it has or had. */
import { viewerOf, type Context } from '../../context.ts';
import { planNotFound } from '../billing-errors.ts';
import { administers } from '../billing-rights.ts';
import { findPlan, isPlanOf } from './plan-store.ts';
import type { Plan } from './plan.ts';

/** One plan. Throws NotFoundError `PLAN_NOT_FOUND`, also for plans that the caller cannot see. */
export async function visiblePlan(ctx: Context, uid: string): Promise<Plan> {
  const plan = await findPlan(ctx.db, uid);
  if (!plan) throw planNotFound();
  if (plan.status === 'active' || administers(ctx)) return plan;
  if (await isPlanOf(ctx.db, plan, viewerOf(ctx).customerId)) return plan;
  throw planNotFound();
}
