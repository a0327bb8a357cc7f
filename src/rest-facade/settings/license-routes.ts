/** The license (specification 4.11, decision D40). */
import { z } from 'zod';
import type { RestLicenseFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody, timeShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const licenseShape = z
  .strictObject({
    edition: z.enum(['community', 'licensed']),
    holder: z.string().nullable(),
    plan: z.string().nullable(),
    expires_at: timeShape.nullable().meta({ description: 'null: it does not expire.' }),
    is_expired: z.boolean(),
    refreshed_at: timeShape.nullable().meta({ description: 'When the document was read last.' }),
  })
  .meta({ id: 'License' });

export const licenseRows = [
  endpoint({
    method: 'GET',
    path: '/license',
    access: 'admin',
    summary: 'Shows the license that was read last.',
    answers: answersBody(z.strictObject({ license: licenseShape })),
    operation: 'License',
    variables: () => ({}),
    present: ({ license }) => ok({ license: presentLicense(license) }),
  }),
  endpoint({
    method: 'POST',
    path: '/license/refresh',
    access: 'admin',
    summary: 'Reads the license document and checks its signature.',
    details:
      'The document is that of the setting LICENSE. Without one this is the community edition. A license limits nothing.',
    answers: answersBody(actionShape({ license: licenseShape })),
    operation: 'RefreshLicense',
    actsOutside: true,
    variables: () => ({}),
    present: ({ refreshLicense }) => done('The license was refreshed', { license: presentLicense(refreshLicense) }),
  }),
];

function presentLicense(license: RestLicenseFragment) {
  return {
    edition: license.isCommunity ? 'community' : 'licensed',
    holder: license.holder ?? null,
    plan: license.plan ?? null,
    expires_at: license.expiresAt ? restTime(license.expiresAt) : null,
    is_expired: license.isExpired,
    refreshed_at: license.refreshedAt ? restTime(license.refreshedAt) : null,
  };
}
