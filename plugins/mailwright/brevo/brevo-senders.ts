/**
 * The domains of an account at Brevo with their records, and its senders. An address that is added gets a mail from Brevo with a code, which is
 * entered on Brevo's own pages.
 */
import { z } from 'zod';
import {
  readVendor,
  SendingError,
  type DriverOptions,
  type DriverSettings,
  type VendorDnsRecord,
  type VendorIdentities,
  type VendorIdentity,
} from '../../../src/plugin-api/index.ts';
import { accountOf, NAME } from './brevo-api.ts';

const DOMAINS = '/v3/senders/domains';
const SENDERS = '/v3/senders';

const recordShape = z.object({
  type: z.string(),
  value: z.string(),
  host_name: z.string().default(''),
  status: z.boolean().nullish(),
});
const recordsShape = z.record(z.string(), recordShape.nullish().catch(null)).nullish().catch(null);
const oneShape = z.object({ authenticated: z.boolean().default(false), dns_records: recordsShape });
const domainsShape = z.object({
  domains: z.array(z.object({ domain_name: z.string(), authenticated: z.boolean() })).default([]),
});
const sendersShape = z.object({ senders: z.array(z.object({ email: z.string(), active: z.boolean() })).default([]) });

export function brevoSenders(settings: DriverSettings, options: DriverOptions): VendorIdentities {
  const read = readVendor(options, { name: NAME, ...accountOf(settings) });
  const senders = async () => {
    const { senders: found } = await read({ method: 'GET', path: SENDERS }, sendersShape);
    return found.map(({ email: name, active }) => identityOf({ kind: 'email', name, isVerified: active }));
  };
  const senderOf = async (name: string) =>
    (await senders()).find((one) => one.name.toLowerCase() === name.toLowerCase());
  const domain = async (name: string) => {
    const path = `${DOMAINS}/${encodeURIComponent(name)}`;
    const { authenticated, dns_records: records } = await read({ method: 'GET', path }, oneShape);
    return { ...identityOf({ kind: 'domain', name, isVerified: authenticated }), records: recordsOf(name, records) };
  };
  return {
    adds: ['domain', 'email'],
    // Neither list of Brevo has pages.
    async list() {
      const { domains } = await read({ method: 'GET', path: DOMAINS }, domainsShape);
      const found = domains.map(({ domain_name: name, authenticated }) =>
        identityOf({ kind: 'domain', name, isVerified: authenticated }),
      );
      return [...found, ...(await senders())];
    },
    async add({ kind, name }) {
      const body = JSON.stringify(kind === 'domain' ? { name } : { name, email: name });
      await read(
        { method: 'POST', path: kind === 'domain' ? DOMAINS : SENDERS, body },
        z.looseObject({ id: z.number() }),
      );
      if (kind === 'domain') return domain(name);
      // One of a domain that is verified is verified at once.
      return (await senderOf(name)) ?? identityOf({ kind, name, isVerified: false });
    },
    async check({ kind, name }) {
      if (kind === 'email') {
        const sender = await senderOf(name);
        if (sender) return sender;
        throw new Error(`${NAME} does not know ${name} in this account.`);
      }
      const path = `${DOMAINS}/${encodeURIComponent(name)}/authenticate`;
      // 400: some record is not there yet, which the domain itself tells.
      await read({ method: 'PUT', path }, z.unknown()).catch((error: unknown) => {
        if (!(error instanceof SendingError && error.code === 400)) throw error;
      });
      return domain(name);
    },
  };
}

function identityOf(one: Pick<VendorIdentity, 'kind' | 'name' | 'isVerified'>): VendorIdentity {
  return { ...one, status: one.isVerified ? 'verified' : 'pending', records: [] };
}

/** Brevo gives names below the domain: `mail._domainkey`, `@` or nothing for the domain itself. */
function recordsOf(domain: string, records: z.output<typeof recordsShape>): VendorDnsRecord[] {
  return Object.values(records ?? {}).flatMap((record) => {
    if (!record) return [];
    const host = record.host_name.replace(/\.$/, '');
    const isWhole = host === domain || host.endsWith(`.${domain}`);
    const name = host === '' || host === '@' ? domain : isWhole ? host : `${host}.${domain}`;
    const type = record.type === 'CNAME' ? ('CNAME' as const) : ('TXT' as const);
    return [{ type, name, value: record.value, isFound: record.status ?? null }];
  });
}
