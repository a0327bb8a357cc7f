/**
 * Whether a host leads to this installation: checked over HTTP, like browsers. The answer is a MAC of the host's name that only
 * this installation can make, so no other server passes, and nobody sees the answer.
 */
import { createDnsQuery, type DnsQuery } from '../../../lib/dns-records.ts';
import { deriveKey, mac } from '../../../lib/crypto.ts';
import { messageOf } from '../../../lib/errors.ts';
import { openOutbound } from '../../../lib/outbound-request.ts';
import type { Installation } from '../../context.ts';
import type { TrackingProbe } from './read-domain-records.ts';

/** Where an installation answers for a host; registered names below it do not fit (RFC 8615). */
export const HOST_PROOF_PATH = '/.well-known/mailwright-host';

const TIMEOUT_MS = 5_000;
const PROOF_BYTES_MAX = 200;
const BYTES = 32;

/** The installation's answer under this host. */
export function hostProof({ secret }: Installation, host: string): string {
  return mac(deriveKey(secret, 'tracking-host'), host.toLowerCase(), BYTES).toString('hex');
}

/** The probe of an installation: https first; http only if the installation itself uses it. */
export function trackingProbe(installation: Installation): TrackingProbe {
  const base = new URL(installation.baseUrl);
  const queryDns = createDnsQuery(installation.dnsServers);
  return async (host) => {
    const port = base.port === '' ? '' : `:${base.port}`;
    const candidates =
      base.protocol === 'https:' ? [`https://${host}${port}`] : [`https://${host}`, `http://${host}${port}`];
    let refusal = '';
    for (const url of candidates) {
      const answer = await tryUrl(installation, { url, host, queryDns });
      if (answer === undefined) return { url };
      refusal = answer;
    }
    return { refusal };
  };
}

interface Try {
  readonly url: string;
  readonly host: string;
  readonly queryDns: DnsQuery;
}

/** Undefined: it is this installation. */
async function tryUrl(installation: Installation, { url, host, queryDns }: Try): Promise<string | undefined> {
  try {
    const answer = await openOutbound(`${url}${HOST_PROOF_PATH}`, {
      // The installation's own addresses count as private, and the host has to lead to them.
      allowed: [...(installation.outboundAllowHosts ?? []), ...(await addressesOf(installation, queryDns))],
      timeoutMs: TIMEOUT_MS,
      bytesMax: PROOF_BYTES_MAX,
      ports: [new URL(installation.baseUrl).port],
      ...(installation.dnsServers?.length ? { find: (name: string) => hostAddresses(queryDns, name) } : {}),
    });
    try {
      let text = '';
      for await (const chunk of answer.body) text += chunk.toString('latin1');
      return text.trim() === hostProof(installation, host) ? undefined : `${url} does not lead to this installation.`;
    } finally {
      answer.close();
    }
  } catch (error) {
    const hint = url.startsWith('https:')
      ? ' It needs a certificate for this name, on the proxy in front of the installation.'
      : '';
    return `${url} cannot be used: ${messageOf(error)}${hint}`;
  }
}

async function addressesOf({ baseUrl }: Installation, queryDns: DnsQuery): Promise<string[]> {
  return (await hostAddresses(queryDns, new URL(baseUrl).hostname)).map(({ address }) => address);
}

async function hostAddresses(queryDns: DnsQuery, host: string): Promise<{ address: string; family: number }[]> {
  const [four, six] = await Promise.all([queryDns('A', host), queryDns('AAAA', host)]);
  return [
    ...(four.status === 'found' ? four.values.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'found' ? six.values.map((address) => ({ address, family: 6 })) : []),
  ];
}
