/** What the rows of sending domains answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

const row = {
  uid: uidShape,
  name: z.string(),
  status: z.enum(['pending', 'verified', 'failing', 'lost']),
  is_default: z.boolean(),
  checked_at: timeShape.nullable(),
  created_at: timeShape,
  updated_at: timeShape,
};

export const domainRowShape = z.strictObject(row).meta({ id: 'SendingDomainRow' });

const recordShape = z
  .strictObject({
    kind: z.enum(['ownership', 'dkim', 'spf', 'dmarc', 'return_path', 'tracking']),
    type: z.enum(['TXT', 'CNAME']),
    name: z.string(),
    value: z.string(),
    pieces: z.array(z.string()).meta({ description: 'The value in pieces of at most 255 characters.' }),
    is_required: z.boolean(),
    status: z.enum(['unknown', 'verified', 'missing', 'wrong']),
    seen: z.array(z.string()),
    problems: z.array(z.string()),
  })
  .meta({ id: 'SendingDomainRecord' });

const domainShape = z
  .strictObject({
    ...row,
    uses_ed25519: z.boolean(),
    return_path_host: z.string(),
    return_path_ready: z.boolean(),
    tracking_host: z.string(),
    tracking_url: z.string().nullable(),
    verified_at: timeShape.nullable(),
    failing_since: timeShape.nullable(),
    spf_lookups: countShape.nullable(),
    dmarc_policy: z.enum(['none', 'quarantine', 'reject']).nullable(),
    organizational_domain: z.string().nullable(),
    records: z.array(recordShape),
  })
  .meta({ id: 'SendingDomain' });

export const oneDomainShape = z.strictObject({ sending_domain: domainShape });
export const domainActionShape = actionShape({ sending_domain_uid: uidShape, sending_domain: domainShape });
export const domainDeletedShape = actionShape({ sending_domain_uid: uidShape });
