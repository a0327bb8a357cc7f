/** The domains of an account at Elastic Email. Its interface tells whether their records were found, but not what has to be in them. */
import { z } from 'zod';
import {
  readVendor,
  type DriverOptions,
  type DriverSettings,
  type VendorIdentities,
  type VendorIdentity,
} from '../../../src/plugin-api/index.ts';
import { accountOf, failureOf, NAME } from './elasticemail-api.ts';

const DOMAINS = '/v4/domains';

const domainShape = z.object({
  Domain: z.string(),
  Spf: z.boolean().default(false),
  Dkim: z.boolean().default(false),
});
type Domain = z.output<typeof domainShape>;

export function elasticDomains(settings: DriverSettings, options: DriverOptions): VendorIdentities {
  const read = readVendor(options, { name: NAME, failureOf, ...accountOf(settings) });
  return {
    adds: ['domain'],
    // Addresses that were verified there are not told.
    lists: ['domain'],
    list: async () => (await read({ method: 'GET', path: DOMAINS }, z.array(domainShape))).map(identityOf),
    async add({ kind, name }) {
      if (kind === 'email') throw new Error(`${NAME} lets us add domains only. Add the address on its own pages.`);
      return identityOf(
        await read({ method: 'POST', path: DOMAINS, body: JSON.stringify({ Domain: name }) }, domainShape),
      );
    },
    async check({ kind, name }) {
      if (kind === 'email') throw new Error(`${NAME} does not tell which addresses are verified: see its own pages.`);
      const path = `${DOMAINS}/${encodeURIComponent(name)}/verification`;
      // The body is the kind of tracking that it looks for besides; that is not ours.
      return identityOf(await read({ method: 'PUT', path, body: JSON.stringify('Http') }, domainShape));
    },
  };
}

/** It sends for a domain with SPF and DKIM. */
function identityOf({ Domain: name, Spf, Dkim }: Domain): VendorIdentity {
  const missing = [...(Spf ? [] : ['SPF']), ...(Dkim ? [] : ['DKIM'])];
  return {
    ...{ kind: 'domain', name, isVerified: missing.length === 0, records: [] },
    status: missing.length === 0 ? 'verified' : `missing: ${missing.join(', ')}`,
  };
}
