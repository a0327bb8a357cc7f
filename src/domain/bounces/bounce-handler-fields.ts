/** The columns of a bounce handler. */
import { typed } from '../../db/row.ts';
import type { Fields } from '../../db/fields.ts';

export const PROTOCOLS = ['imap', 'pop3'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
export const ENCRYPTIONS = ['tls', 'starttls', 'none'] as const;
export type Encryption = (typeof ENCRYPTIONS)[number];
export const HANDLER_STATUSES = ['active', 'inactive'] as const;

const identity = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  isSystem: { column: 'is_system', type: 'bool' },
} satisfies Fields;

/** The settings of its owner. */
export const handlerSettings = {
  name: { column: 'name', type: 'text' },
  protocol: { column: 'protocol', type: typed<Protocol>('text') },
  host: { column: 'host', type: 'text' },
  port: { column: 'port', type: 'int' },
  encryption: { column: 'encryption', type: typed<Encryption>('text') },
  username: { column: 'username', type: 'text' },
  sealedPassword: { column: 'sealed_password', type: 'bytea' },
  folder: { column: 'folder', type: 'text' },
  keepsReports: { column: 'keeps_reports', type: 'bool' },
  status: { column: 'status', type: typed<(typeof HANDLER_STATUSES)[number]>('text') },
} satisfies Fields;
export const handlerFields = { ...identity, ...handlerSettings };
export const handlerColumns = { id: { column: 'id', type: 'bigint' }, ...handlerFields } satisfies Fields;
