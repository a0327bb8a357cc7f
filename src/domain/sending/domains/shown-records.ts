/** The records of a domain for its owner: what to publish, and what the last check found. */
import { domainRecords, type DomainRecord } from './domain-records.ts';
import type { DomainSite } from './domain-site.ts';
import { domainChecks, type PublicDkimKey, type RecordStatus, type SendingDomain } from './sending-domain.ts';

export interface ShownRecord extends DomainRecord {
  readonly status: RecordStatus;
  readonly seen: readonly string[];
  readonly problems: readonly string[];
}

type Shown = Pick<SendingDomain, 'name' | 'token' | 'returnPathHost' | 'trackingHost'> & { readonly checks: unknown };

/** `keys` are all of the domain's; a record that was never checked is `unknown`. */
export function shownRecords(domain: Shown, keys: readonly PublicDkimKey[], site: DomainSite): ShownRecord[] {
  const { records } = domainChecks.parse(domain.checks);
  return domainRecords(domain, keys, site).map((record) => {
    // A DMARC record of the organization has another name, and there is at most one.
    const found = records.find(({ kind, name }) => kind === record.kind && (name === record.name || kind === 'dmarc'));
    return { ...record, status: found?.status ?? 'unknown', seen: found?.seen ?? [], problems: found?.problems ?? [] };
  });
}
