/** The columns of a sending server. */
import { typed } from '../../db/row.ts';
import type { Field, Fields } from '../../db/fields.ts';
import type { DriverSettings } from '../../plugin-api/index.ts';
import type { DomainLimits } from './routing/domain-limits.ts';
import type { WarmUpSchedule } from './routing/warm-up.ts';

export const serverStatuses = ['active', 'inactive'] as const;
export type ServerStatus = (typeof serverStatuses)[number];

/** What is fixed when a server is made. */
export const serverIdentity = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  type: { column: 'type', type: 'text' },
  isSystem: { column: 'is_system', type: 'bool' },
} satisfies Fields;
const name = { column: 'name', type: 'text' } satisfies Field;
export const quota = {
  quotaValue: { column: 'quota_value', type: 'int?' },
  quotaBase: { column: 'quota_base', type: 'int?' },
  quotaUnit: { column: 'quota_unit', type: 'text?' },
} satisfies Fields;
const status = { column: 'status', type: typed<ServerStatus>('text') } satisfies Field;

/** What is written. */
export const serverFields = {
  ...serverIdentity,
  name,
  status,
  settings: { column: 'settings', type: typed<DriverSettings>('json') },
  sealedSettings: { column: 'sealed_settings', type: 'bytea?' },
  defaultFromEmail: { column: 'default_from_email', type: 'text' },
  connectionsMax: { column: 'connections_max', type: 'int' },
  ...quota,
  domainLimits: { column: 'domain_limits', type: typed<DomainLimits>('json') },
  warmUp: { column: 'warm_up', type: typed<WarmUpSchedule>('json?') },
  warmUpStartedAt: { column: 'warm_up_started_at', type: 'timestamptz?' },
  warmUpStoppedAt: { column: 'warm_up_stopped_at', type: 'timestamptz?' },
  warmUpStopReason: { column: 'warm_up_stop_reason', type: 'text?' },
} satisfies Fields;
/** A server without its settings. */
export const serverColumns = { ...serverIdentity, id: { column: 'id', type: 'bigint' }, name, status } satisfies Fields;
/** The same with its settings, the secret ones encrypted, its default sender and its quota. */
export const storedServerColumns = {
  ...serverColumns,
  settings: { column: 'settings', type: 'json' },
  sealedSettings: serverFields.sealedSettings,
  defaultFromEmail: serverFields.defaultFromEmail,
  ...quota,
} satisfies Fields;
