/**
 * Changes a plan. Its options apply at once to those who have it, its price and its period from their next renewal on; own
 * options of a subscription stay.
 */
import { InputFaults } from '../../../lib/input-faults.ts';
import { inTransaction, type Context } from '../../context.ts';
import { currencyInUse, planNotFound } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { requireKnownNames } from '../gateways/offered-gateways.ts';
import { isLinked } from '../remote/remote-plan-store.ts';
import { planIsLinked } from '../remote/remote-errors.ts';
import { storedCurrency } from '../currencies.ts';
import { parsePlanOptions } from './plan-options.ts';
import { countLiveSubscriptions, findPlan, updatePlanRow } from './plan-store.ts';
import {
  checkFrequency,
  frequencyOfPlan,
  readCurrency,
  readPrice,
  updatePlanInput,
  type Plan,
  type PlanInput,
  type PlanValues,
} from './plan.ts';

/**
 * Changes the given values; a null option is reset to its default. Throws ValidationError, also `PLAN_CURRENCY_FIXED`;
 * WrongStateError `REMOTE_PLAN_LINKED`; NotFoundError `PLAN_NOT_FOUND`.
 */
export async function updatePlan(ctx: Context, { uid, ...input }: PlanInput & { uid: string }): Promise<Plan> {
  requireAdministrator(ctx);
  return inTransaction(ctx, async (tx) => {
    const plan = await findPlan(tx.db, uid, 'change');
    if (!plan) throw planNotFound();
    const faults = new InputFaults();
    await faults.gather(() => requireKnownNames(tx, input.options?.['payment_gateway']));
    const changes = readChanges(faults, plan, input);
    if (changes.currencyCode !== undefined && changes.currencyCode !== plan.currencyCode) {
      if ((await countLiveSubscriptions(tx.db, plan)) > 0) throw currencyInUse();
    }
    if (changesWhatIsPaid(plan, changes) && (await isLinked(tx.db, plan.id))) throw planIsLinked();
    await updatePlanRow(tx.db, plan, changes);
    return plan;
  });
}

/** Price, currency or period: what a vendor takes the money for. */
function changesWhatIsPaid(plan: Plan, changes: PlanValues): boolean {
  const names = ['priceMinor', 'currencyCode', 'frequencyAmount', 'frequencyUnit'] as const;
  return names.some((name) => changes[name] !== undefined && changes[name] !== plan[name]);
}

function readChanges(faults: InputFaults, plan: Plan, input: PlanInput): PlanValues {
  const wanted = faults.readRight(updatePlanInput, input);
  const options = input.options ? faults.catch(() => mergedOptions(plan, input.options ?? {})) : undefined;
  const named = readCurrency(faults, input);
  const currency = named ?? storedCurrency(plan.currencyCode);
  if (named && named.code !== plan.currencyCode && wanted.price === undefined)
    faults.add({ price: ['The price must be given in the new currency.'] });
  const priceMinor = wanted.price === undefined ? undefined : readPrice(faults, wanted.price, currency);
  const now = frequencyOfPlan(plan);
  const amount = wanted.frequencyAmount ?? now.amount;
  checkFrequency(faults, { amount, unit: wanted.frequencyUnit ?? now.unit });
  faults.check();
  return {
    name: wanted.name,
    priceMinor,
    currencyCode: named?.code,
    frequencyAmount: wanted.frequencyAmount,
    frequencyUnit: wanted.frequencyUnit,
    color: wanted.color,
    customOrder: wanted.customOrder,
    status: wanted.status,
    options,
  };
}

function mergedOptions(plan: Plan, given: Readonly<Record<string, unknown>>) {
  const merged = Object.entries({ ...plan.options, ...given });
  return parsePlanOptions(Object.fromEntries(merged.filter(([, value]) => value !== null)));
}
