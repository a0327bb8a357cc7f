/** The records of a domain as its owner reads them: what to publish, beside what the last look saw of it. */
import { domainRecords, type DomainRecord } from './domain-records.ts';
import type { DomainSite } from './domain-site.ts';
import { domainChecks, type PublicDkimKey, type RecordStatus, type SendingDomain } from './sending-domain.ts';

export interface ShownRecord extends DomainRecord {
  readonly status: RecordStatus;
  readonly seen: readonly string[];
  readonly problems: readonly string[];
}

type Shown = Pick<SendingDomain, 'name' | 'token' | 'returnPathHost' | 'trackingHost'> & { readonly checks: unknown };

/** `keys` are all of the domain's; what was never looked at is `unknown`. */
export function shownRecords(domain: Shown, keys: readonly PublicDkimKey[], site: DomainSite): ShownRecord[] {
  const { records } = domainChecks.parse(domain.checks);
  return domainRecords(domain, keys, site).map((record) => {
    // A DMARC record of the organization stands elsewhere, and there is one of them at most.
    const found = records.find(({ kind, name }) => kind === record.kind && (name === record.name || kind === 'dmarc'));
    return { ...record, status: found?.status ?? 'unknown', seen: found?.seen ?? [], problems: found?.problems ?? [] };
  });
}
