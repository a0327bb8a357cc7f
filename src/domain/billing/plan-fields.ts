/** The columns of a plan. */
import { bigint, int, json, nullable, text, word } from '../../db/fields.ts';
import type { Fields } from '../../db/fields.ts';

export const planStatuses = ['active', 'inactive'] as const;
export type PlanStatus = (typeof planStatuses)[number] | 'deleted';

export const planFields = {
  uid: { column: 'uid', type: text },
  name: { column: 'name', type: text },
  priceMinor: { column: 'price_minor', type: bigint },
  currencyCode: { column: 'currency_code', type: text },
  frequencyAmount: { column: 'frequency_amount', type: int },
  frequencyUnit: { column: 'frequency_unit', type: text },
  color: { column: 'color', type: nullable(text) },
  status: { column: 'status', type: word<PlanStatus>() },
  customOrder: { column: 'custom_order', type: nullable(int) },
  options: { column: 'options', type: json<Readonly<Record<string, unknown>>>() },
} satisfies Fields;
export const planColumns = { id: { column: 'id', type: bigint }, ...planFields } satisfies Fields;
