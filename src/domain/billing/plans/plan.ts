/**
 * The noun: a plan, what a customer may do and what it costs. Plans belong to the operator's account; administrators make them,
 * everybody reads the active ones (decision D33). This file says what an input may contain.
 */
import { z } from 'zod';
import type { RowOfFields, ValuesOf } from '../../../db/fields.ts';
import type { InputFaults } from '../../../lib/input-faults.ts';
import { singleLine } from '../../../lib/text.ts';
import { currencyByCode, currencyById, type Currency } from '../currencies.ts';
import { parseAmount } from '../money.ts';
import { FREQUENCY_MAX, frequencyAmount, frequencyUnits, storedUnit, type Frequency } from '../subscriptions/period.ts';
import { planStatuses, type planColumns, type planFields } from './plan-fields.ts';

const NAME_LENGTH_MAX = 255;
/** A name of a colour, or its number. */
const COLOR_LENGTH_MAX = 50;
const PRICE_LENGTH_MAX = 40;
const ORDER_MAX = 1_000_000;

/** They are shown together on one page; a thousand plans are a mistake of a program. */
export const PLANS_MAX = 1_000;

const common = {
  currencyId: z.int().describe('A number of `currencies`.').nullish(),
  currencyCode: z.string().max(PRICE_LENGTH_MAX).nullish(),
  color: singleLine(COLOR_LENGTH_MAX).nullish(),
  customOrder: z.int().min(0).max(ORDER_MAX).nullish(),
};
export const createPlanInput = z.object({
  ...common,
  name: singleLine(NAME_LENGTH_MAX),
  price: z.string().max(PRICE_LENGTH_MAX),
  frequencyAmount,
  frequencyUnit: z.enum(frequencyUnits),
});
export const updatePlanInput = z.object({
  ...common,
  name: singleLine(NAME_LENGTH_MAX).optional(),
  price: z.string().max(PRICE_LENGTH_MAX).optional(),
  frequencyAmount: frequencyAmount.optional(),
  frequencyUnit: z.enum(frequencyUnits).optional(),
  status: z.enum(planStatuses).optional(),
});

/** Input from an entry point. */
export interface PlanInput {
  readonly name?: string | null | undefined;
  readonly currencyId?: number | null | undefined;
  readonly currencyCode?: string | null | undefined;
  readonly price?: string | null | undefined;
  readonly frequencyAmount?: number | null | undefined;
  readonly frequencyUnit?: string | null | undefined;
  readonly color?: string | null | undefined;
  readonly customOrder?: number | null | undefined;
  readonly status?: string | null | undefined;
  readonly options?: Readonly<Record<string, unknown>> | null | undefined;
}

export type Plan = RowOfFields<typeof planColumns>;
export type PlanValues = ValuesOf<typeof planFields>;

export function frequencyOfPlan(plan: Pick<Plan, 'frequencyAmount' | 'frequencyUnit'>): Frequency {
  return { amount: plan.frequencyAmount, unit: storedUnit(plan.frequencyUnit) };
}

/** The currency of an input by number or code; undefined when there is none. Records faults. */
export function readCurrency(faults: InputFaults, { currencyId, currencyCode }: PlanInput): Currency | undefined {
  if (currencyCode !== undefined && currencyCode !== null) {
    const currency = currencyByCode(currencyCode);
    if (!currency) faults.add({ currencyCode: ['The currency code is not one of ISO 4217.'] });
    return currency;
  }
  if (currencyId === undefined || currencyId === null) return undefined;
  const currency = currencyById(currencyId);
  if (!currency) faults.add({ currencyId: ['There is no currency of this number.'] });
  return currency;
}

/** The price in minor units; undefined when it is invalid. */
export function readPrice(faults: InputFaults, price: string, currency: Currency): bigint | undefined {
  const amount = parseAmount(price, currency);
  if (typeof amount === 'bigint') return amount;
  faults.add({ price: [`The price ${amount}.`] });
  return undefined;
}

/** Records a fault for a period that is too long. */
export function checkFrequency(faults: InputFaults, { amount, unit }: Frequency): void {
  const max = FREQUENCY_MAX[unit];
  if (amount > max) faults.add({ frequencyAmount: [`The frequency amount may not be greater than ${max} ${unit}s.`] });
}
