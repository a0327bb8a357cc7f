/** The installation's part in the records of its customers' domains: its host, its bounce domain, its SPF terms. */
import type { Context, Installation } from '../../context.ts';
import { createDnsQuery, type DnsQuery } from '../../../lib/dns-records.ts';
import { doVendorsTakeBounces } from '../bounce-route.ts';

export interface DomainSite {
  /** Host of the installation's address; null when no record can lead to it (`localhost`, an IP address). */
  readonly host: string | null;
  /** The domain that receives mail for return-paths; null: bounces of customers' mail are not received. */
  readonly bounceDomain: string | null;
  /** What an SPF record must allow so that mail of this installation passes. */
  readonly spfTerms: readonly string[];
  readonly queryDns: DnsQuery;
}

const HOST_NAME = /^(?=.{1,253}$)([a-z0-9-]{1,63}\.)+(?!\d+$)[a-z0-9-]{2,63}$/;
const sites = new WeakMap<Installation, DomainSite>();

/** The site of an installation, made once. */
export function siteOf(installation: Installation): DomainSite {
  const known = sites.get(installation);
  if (known) return known;
  const hostname = new URL(installation.baseUrl).hostname.toLowerCase();
  const host = HOST_NAME.test(hostname) ? hostname : null;
  const { spfTerms = [], bounceDomain = '', dnsServers = [] } = installation;
  const site: DomainSite = {
    host,
    bounceDomain: bounceDomain === '' ? null : bounceDomain,
    spfTerms: spfTerms.length > 0 || host === null ? spfTerms : [`a:${host}`],
    queryDns: createDnsQuery(dnsServers),
  };
  sites.set(installation, site);
  return site;
}

/**
 * The same for what a customer is asked to publish: where all vendors that may carry its mail set the sender of the envelope, a return-path
 * and SPF of ours have no effect.
 */
export async function siteForCustomer(
  ctx: Pick<Context, 'db' | 'hooks' | 'installation'>,
  customerId: bigint,
): Promise<DomainSite> {
  const site = siteOf(ctx.installation);
  return (await doVendorsTakeBounces(ctx, customerId)) ? { ...site, bounceDomain: null, spfTerms: [] } : site;
}
