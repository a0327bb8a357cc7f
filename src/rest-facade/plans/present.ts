/** How REST shows plans: numbers as texts, as its clients expect them. */
import type { RestPlanFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentPlan(plan: RestPlanFragment) {
  return {
    uid: plan.uid,
    name: plan.name,
    price: plan.price.amount,
    currency_code: plan.price.currencyCode,
    frequency_amount: String(plan.frequencyAmount),
    frequency_unit: plan.frequencyUnit,
    options: Object.fromEntries(Object.entries({ ...plan.options }).map(([name, value]) => [name, value ?? ''])),
    color: plan.color,
    status: plan.status,
    quota: null,
    custom_order: String(plan.customOrder ?? 0),
    created_at: restTime(plan.createdAt),
    updated_at: restTime(plan.updatedAt),
  };
}
