/** The columns of a plan. */
import { typed } from '../../../db/row.ts';
import type { Fields } from '../../../db/fields.ts';

export const planStatuses = ['active', 'inactive'] as const;
export type PlanStatus = (typeof planStatuses)[number] | 'deleted';

export const planFields = {
  uid: { column: 'uid', type: 'text' },
  name: { column: 'name', type: 'text' },
  priceMinor: { column: 'price_minor', type: 'bigint' },
  currencyCode: { column: 'currency_code', type: 'text' },
  frequencyAmount: { column: 'frequency_amount', type: 'int' },
  frequencyUnit: { column: 'frequency_unit', type: 'text' },
  color: { column: 'color', type: 'text?' },
  status: { column: 'status', type: typed<PlanStatus>('text') },
  customOrder: { column: 'custom_order', type: 'int?' },
  options: { column: 'options', type: typed<Readonly<Record<string, unknown>>>('json') },
} satisfies Fields;
export const planColumns = { id: { column: 'id', type: 'bigint' }, ...planFields } satisfies Fields;
