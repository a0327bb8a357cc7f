/** The domains of an account at Mailgun, with the records that it asks for. */
import { z } from 'zod';
import {
  readVendor,
  type DriverOptions,
  type DriverSettings,
  type VendorIdentities,
  type VendorIdentity,
} from '../../../src/plugin-api/index.ts';
import { accountOf } from './mailgun-api.ts';

const NAME = 'Mailgun';
/** Its largest page, and as many pages as the contract has identities. */
const PAGE_MAX = 100;
const PAGES_MAX = 10;

const recordShape = z.object({
  record_type: z.enum(['CNAME', 'TXT', 'MX']),
  name: z.string().nullish(),
  value: z.string(),
  valid: z.string().nullish(),
});
const domainShape = z.object({ name: z.string(), state: z.string() });
const pageShape = z.object({ items: z.array(domainShape) });
const oneShape = z.object({
  domain: domainShape,
  sending_dns_records: z.array(recordShape).catch([]),
  receiving_dns_records: z.array(recordShape).catch([]),
});

export function mailgunDomains(settings: DriverSettings, options: DriverOptions): VendorIdentities {
  const { origin, authorization } = accountOf(settings);
  const read = readVendor(options, { name: NAME, origin, headers: { Authorization: authorization } });
  return {
    adds: ['domain'],
    async list() {
      const found: VendorIdentity[] = [];
      for (let page = 0; page < PAGES_MAX; page++) {
        const path = `/v4/domains?limit=${PAGE_MAX}&skip=${page * PAGE_MAX}`;
        const { items } = await read({ method: 'GET', path }, pageShape);
        found.push(...items.map((domain) => identityOf(domain, [])));
        if (items.length < PAGE_MAX) break;
      }
      return found;
    },
    async add({ kind, name }) {
      if (kind !== 'domain') throw new Error(`${NAME} lets us add domains only.`);
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const body = new URLSearchParams({ name }).toString();
      const one = await read({ method: 'POST', path: '/v4/domains', headers, body }, oneShape);
      return identityOf(one.domain, one.sending_dns_records);
    },
    async check({ name }) {
      const path = `/v4/domains/${encodeURIComponent(name)}/verify`;
      const one = await read({ method: 'PUT', path }, oneShape);
      return identityOf(one.domain, one.sending_dns_records);
    },
  };
}

function identityOf(
  { name, state }: z.output<typeof domainShape>,
  records: readonly z.output<typeof recordShape>[],
): VendorIdentity {
  return {
    ...{ kind: 'domain', name, isVerified: state === 'active', status: state },
    records: records.map(({ record_type: type, name: host, value, valid }) => ({
      ...{ type, name: host ?? name, value },
      isFound: valid === 'valid' ? true : valid === 'invalid' ? false : null,
    })),
  };
}
