/** The columns of a verification server. */
import { typed } from '../../db/row.ts';
import type { Fields } from '../../db/fields.ts';
import type { DriverSettings } from '../../plugin-api/index.ts';
import { serverIdentity } from '../sending/sending-server-fields.ts';

export const verificationServerStatuses = ['active', 'inactive'] as const;

const changed = {
  name: { column: 'name', type: 'text' },
  status: { column: 'status', type: typed<(typeof verificationServerStatuses)[number]>('text') },
  sealedSettings: { column: 'sealed_settings', type: 'bytea?' },
  perMinuteMax: { column: 'per_minute_max', type: 'int?' },
} satisfies Fields;

/** What is written. */
export const verificationServerFields = {
  ...serverIdentity,
  ...changed,
  settings: { column: 'settings', type: typed<DriverSettings>('json') },
} satisfies Fields;
/** What is read. The secret settings are encrypted. */
export const verificationServerColumns = {
  ...serverIdentity,
  ...changed,
  id: { column: 'id', type: 'bigint' },
  settings: { column: 'settings', type: 'json' },
} satisfies Fields;
