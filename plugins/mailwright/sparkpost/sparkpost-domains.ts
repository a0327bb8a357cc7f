/** The sending domains of an account at SparkPost, with the record of DKIM by which it verifies them. */
import { z } from 'zod';
import {
  readVendor,
  type DriverOptions,
  type DriverSettings,
  type VendorIdentities,
  type VendorIdentity,
} from '../../../src/plugin-api/index.ts';
import { accountOf, NAME } from './sparkpost-api.ts';

const DOMAINS = '/api/v1/sending-domains';

const statusShape = z.looseObject({
  ownership_verified: z.boolean().catch(false),
  dkim_status: z.string().catch('unverified'),
  compliance_status: z.string().catch('valid'),
});
type Status = z.output<typeof statusShape>;
const dkimShape = z.looseObject({ public: z.string(), selector: z.string(), signing_domain: z.string().nullish() });
type Dkim = z.output<typeof dkimShape>;

const listShape = z.object({ results: z.array(z.looseObject({ domain: z.string(), status: statusShape })) });
const addedShape = z.object({ results: z.looseObject({ domain: z.string(), dkim: dkimShape.nullish() }) });
const oneShape = z.object({ results: z.looseObject({ status: statusShape, dkim: dkimShape.nullish() }) });
const verifiedShape = z.object({ results: statusShape });
const NEW: Status = { ownership_verified: false, dkim_status: 'unverified', compliance_status: 'valid' };

export function sparkPostDomains(settings: DriverSettings, options: DriverOptions): VendorIdentities {
  const { origin, authorization } = accountOf(settings);
  const read = readVendor(options, { name: NAME, origin, headers: { Authorization: authorization } });
  return {
    adds: ['domain'],
    async list() {
      const { results } = await read({ method: 'GET', path: DOMAINS }, listShape);
      return results.map(({ domain, status }) => identityOf(domain, status));
    },
    async add({ kind, name }) {
      if (kind !== 'domain') throw new Error(`${NAME} lets us add domains only.`);
      const body = JSON.stringify({ domain: name });
      const { results } = await read({ method: 'POST', path: DOMAINS, body }, addedShape);
      return identityOf(results.domain, NEW, results.dkim);
    },
    async check({ name }) {
      const path = `${DOMAINS}/${encodeURIComponent(name)}`;
      const body = JSON.stringify({ dkim_verify: true });
      await read({ method: 'POST', path: `${path}/verify`, body }, verifiedShape);
      const { results } = await read({ method: 'GET', path }, oneShape);
      return identityOf(name, results.status, results.dkim);
    },
  };
}

function identityOf(name: string, status: Status, dkim?: Dkim | null): VendorIdentity {
  const { ownership_verified: isOwn, dkim_status: state, compliance_status: compliance } = status;
  const isBlocked = compliance !== 'valid';
  return {
    ...{ kind: 'domain', name, isVerified: isOwn && !isBlocked },
    status: isBlocked ? compliance : isOwn ? 'verified' : state,
    records: dkim ? [recordOf(dkim, { name, state })] : [],
  };
}

function recordOf(
  { public: key, selector, signing_domain: signer }: Dkim,
  { name, state }: { name: string; state: string },
) {
  return {
    type: 'TXT' as const,
    name: `${selector}._domainkey.${signer || name}`,
    value: `v=DKIM1; k=rsa; h=sha256; p=${key}`,
    isFound: state === 'valid' ? true : state === 'invalid' ? false : null,
  };
}
