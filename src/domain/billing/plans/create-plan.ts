/** A new plan (decision D33). */
import { newUid } from '../../../lib/ids.ts';
import { InputFaults } from '../../../lib/input-faults.ts';
import type { Context } from '../../context.ts';
import { tooManyPlans } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { requireKnownNames } from '../gateways/offered-gateways.ts';
import { parsePlanOptions } from './plan-options.ts';
import { countPlans, insertPlan } from './plan-store.ts';
import {
  checkFrequency,
  createPlanInput,
  PLANS_MAX,
  readCurrency,
  readPrice,
  type Plan,
  type PlanInput,
} from './plan.ts';

/** Stores the plan. Throws ValidationError with all faults together: fields, `price`, `options.<name>`. */
export async function createPlan(ctx: Context, input: PlanInput): Promise<Plan> {
  requireAdministrator(ctx);
  const faults = new InputFaults();
  const wanted = faults.read(createPlanInput, input);
  const options = faults.catch(() => parsePlanOptions(input.options ?? {}));
  await faults.gather(() => requireKnownNames(ctx, input.options?.['payment_gateway']));
  const currency = readCurrency(faults, input);
  if (!currency && (input.currencyId ?? input.currencyCode ?? null) === null)
    faults.add({ currencyId: ['The currency id field is required (or a currency code).'] });
  const price = wanted?.price ?? input.price;
  const priceMinor = currency && typeof price === 'string' ? readPrice(faults, price, currency) : undefined;
  if (wanted) checkFrequency(faults, { amount: wanted.frequencyAmount, unit: wanted.frequencyUnit });
  faults.check();
  if (!wanted || !currency || !options || priceMinor === undefined) throw new Error('Faults were lost.');
  if ((await countPlans(ctx.db)) >= PLANS_MAX) throw tooManyPlans(PLANS_MAX);
  return insertPlan(ctx.db, {
    uid: newUid(),
    name: wanted.name,
    priceMinor,
    currencyCode: currency.code,
    frequencyAmount: wanted.frequencyAmount,
    frequencyUnit: wanted.frequencyUnit,
    color: wanted.color ?? null,
    customOrder: wanted.customOrder ?? null,
    options,
  });
}
