/** The columns of a sending domain. */
import { typed } from '../../../db/row.ts';
import type { Fields } from '../../../db/fields.ts';

/** `pending`: never proved; `failing`: a needed record is gone, and mail is still signed; `lost`: no longer. */
export const domainStatuses = ['pending', 'verified', 'failing', 'lost'] as const;
export type DomainStatus = (typeof domainStatuses)[number];

export const domainFields = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  name: { column: 'name', type: 'text' },
  token: { column: 'token', type: 'text' },
  isDefault: { column: 'is_default', type: 'bool' },
  usesEd25519: { column: 'uses_ed25519', type: 'bool' },
  returnPathHost: { column: 'return_path_host', type: 'text' },
  returnPathReady: { column: 'return_path_ready', type: 'bool' },
  trackingHost: { column: 'tracking_host', type: 'text' },
  trackingUrl: { column: 'tracking_url', type: 'text' },
} satisfies Fields;
export const newDomainFields = {
  ...domainFields,
  nextCheckAt: { column: 'next_check_at', type: 'timestamptz' },
} satisfies Fields;
export const domainColumns = {
  id: { column: 'id', type: 'bigint' },
  ...domainFields,
  status: { column: 'status', type: typed<DomainStatus>('text') },
  failingSince: { column: 'failing_since', type: 'timestamptz?' },
} satisfies Fields;
