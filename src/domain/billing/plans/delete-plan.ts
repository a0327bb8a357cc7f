/** Deletes a plan without subscriptions; ended subscriptions and invoices keep its row, hidden. */
import { inTransaction, type Context } from '../../context.ts';
import { planInUse, planNotFound } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { countLiveSubscriptions, deletePlanRow, findPlan } from './plan-store.ts';

/** Deletes it. Throws WrongStateError `PLAN_IN_USE` while subscriptions use it; NotFoundError `PLAN_NOT_FOUND`. */
export async function deletePlan(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  requireAdministrator(ctx);
  return inTransaction(ctx, async (tx) => {
    const plan = await findPlan(tx.db, uid, 'change');
    if (!plan) throw planNotFound();
    const live = await countLiveSubscriptions(tx.db, plan);
    if (live > 0) throw planInUse(live);
    await deletePlanRow(tx.db, plan);
    return { uid };
  });
}
