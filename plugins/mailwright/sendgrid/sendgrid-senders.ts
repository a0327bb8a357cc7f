/**
 * The authenticated domains of an account at SendGrid with their records, and its verified single senders. A single sender is added there only:
 * SendGrid wants a postal address with it.
 */
import { z } from 'zod';
import {
  readVendor,
  type DriverOptions,
  type DriverSettings,
  type VendorIdentities,
  type VendorIdentity,
} from '../../../src/plugin-api/index.ts';
import { accountOf, NAME } from './sendgrid-api.ts';

const DOMAINS = '/v3/whitelabel/domains';
const SENDERS = '/v3/verified_senders';
/** Its usual page, and as many as the contract has identities. */
const PAGE_MAX = 50;
const PAGES_MAX = 20;

const recordShape = z.object({
  valid: z.boolean(),
  type: z
    .string()
    .transform((type) => type.toUpperCase())
    .pipe(z.enum(['CNAME', 'TXT', 'MX'])),
  host: z.string(),
  data: z.string(),
});
const domainShape = z.looseObject({
  id: z.number(),
  domain: z.string(),
  valid: z.boolean(),
  // Three CNAME records, or others where the account keeps its records itself.
  dns: z.record(z.string(), recordShape.nullish().catch(null)).catch({}),
});
const sendersShape = z.object({ results: z.array(z.looseObject({ from_email: z.string(), verified: z.boolean() })) });

export function sendGridSenders(settings: DriverSettings, options: DriverOptions): VendorIdentities {
  const { origin, region, authorization } = accountOf(settings);
  const read = readVendor(options, { name: NAME, origin, headers: { Authorization: authorization } });
  const senders = async () => {
    const { results } = await read({ method: 'GET', path: `${SENDERS}?limit=1000` }, sendersShape);
    return results.map(({ from_email: name, verified }) => identityOf('email', { name, isVerified: verified }));
  };
  return {
    adds: ['domain'],
    // A parent account may have assigned domains to this one.
    hidesSome: true,
    async list() {
      const found: VendorIdentity[] = [];
      for (let page = 0; page < PAGES_MAX; page++) {
        const path = `${DOMAINS}?limit=${PAGE_MAX}&offset=${page * PAGE_MAX}`;
        const domains = await read({ method: 'GET', path }, z.array(domainShape));
        found.push(...domains.map((domain) => domainOf(domain)));
        if (domains.length < PAGE_MAX) break;
      }
      return [...found, ...(await senders())];
    },
    async add({ kind, name }) {
      if (kind !== 'domain') throw new Error(`${NAME} lets us add domains only.`);
      const body = JSON.stringify({ domain: name, automatic_security: true, ...(region === 'eu' && { region }) });
      return domainOf(await read({ method: 'POST', path: DOMAINS, body }, domainShape));
    },
    async check({ kind, name }) {
      if (kind === 'email') {
        const sender = (await senders()).find((one) => one.name.toLowerCase() === name.toLowerCase());
        return sender ?? unknown(name);
      }
      const path = `${DOMAINS}?limit=${PAGE_MAX}&domain=${encodeURIComponent(name)}`;
      const found = await read({ method: 'GET', path }, z.array(domainShape));
      const { id } = found.find(({ domain }) => domain === name) ?? unknown(name);
      await read({ method: 'POST', path: `${DOMAINS}/${id}/validate` }, z.looseObject({ valid: z.boolean() }));
      return domainOf(await read({ method: 'GET', path: `${DOMAINS}/${id}` }, domainShape));
    },
  };
}

function unknown(name: string): never {
  throw new Error(`${NAME} does not know ${name} in this account.`);
}

function domainOf({ domain, valid, dns }: z.output<typeof domainShape>): VendorIdentity {
  const records = Object.values(dns).flatMap((record) => (record ? [record] : []));
  return {
    ...identityOf('domain', { name: domain, isVerified: valid }),
    records: records.map(({ type, host, data, valid: isFound }) => ({ type, name: host, value: data, isFound })),
  };
}

function identityOf(
  kind: VendorIdentity['kind'],
  { name, isVerified }: Pick<VendorIdentity, 'name' | 'isVerified'>,
): VendorIdentity {
  return { kind, name, isVerified, status: isVerified ? 'verified' : 'pending', records: [] };
}
