/** The columns of a bounce handler. */
import { bigint, bool, bytes, int, text, word } from '../../db/fields.ts';
import type { Fields } from '../../db/fields.ts';

export const PROTOCOLS = ['imap', 'pop3'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
export const ENCRYPTIONS = ['tls', 'starttls', 'none'] as const;
export type Encryption = (typeof ENCRYPTIONS)[number];
export const HANDLER_STATUSES = ['active', 'inactive'] as const;

const identity = {
  customerId: { column: 'customer_id', type: bigint },
  uid: { column: 'uid', type: text },
  isSystem: { column: 'is_system', type: bool },
} satisfies Fields;

/** The settings of its owner. */
export const handlerSettings = {
  name: { column: 'name', type: text },
  protocol: { column: 'protocol', type: word<Protocol>() },
  host: { column: 'host', type: text },
  port: { column: 'port', type: int },
  encryption: { column: 'encryption', type: word<Encryption>() },
  username: { column: 'username', type: text },
  sealedPassword: { column: 'sealed_password', type: bytes },
  folder: { column: 'folder', type: text },
  keepsReports: { column: 'keeps_reports', type: bool },
  status: { column: 'status', type: word<(typeof HANDLER_STATUSES)[number]>() },
} satisfies Fields;
export const handlerFields = { ...identity, ...handlerSettings };
export const handlerColumns = { id: { column: 'id', type: bigint }, ...handlerFields } satisfies Fields;
