/** The columns of a payment gateway. */
import { typed } from '../../../db/row.ts';
import type { Fields } from '../../../db/fields.ts';
import type { GatewayData } from '../../../plugin-api/index.ts';

export const gatewayStatuses = ['active', 'inactive'] as const;
export type GatewayStatus = (typeof gatewayStatuses)[number];

/** What is written. */
export const gatewayFields = {
  uid: { column: 'uid', type: 'text' },
  type: { column: 'type', type: 'text' },
  name: { column: 'name', type: 'text' },
  status: { column: 'status', type: typed<GatewayStatus>('text') },
  settings: { column: 'settings', type: typed<GatewayData>('json') },
  sealedSettings: { column: 'sealed_settings', type: 'bytea?' },
  deletingAt: { column: 'deleting_at', type: 'timestamptz?' },
} satisfies Fields;

/** What is read. */
export const storedGatewayColumns = {
  id: { column: 'id', type: 'bigint' },
  ...gatewayFields,
} satisfies Fields;
