/** How REST shows sending domains: the records to publish, and what was found of them. */
import type { RestSendingDomainFragment, RestSendingDomainRowFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

/** A row of the index. */
export function presentDomainRow(domain: RestSendingDomainRowFragment) {
  return {
    uid: domain.uid,
    name: domain.name,
    status: domain.status,
    is_default: domain.isDefault,
    checked_at: domain.checkedAt === null ? null : restTime(domain.checkedAt),
    created_at: restTime(domain.createdAt),
    updated_at: restTime(domain.updatedAt),
  };
}

/** The whole domain, without private keys. */
export function presentDomain(domain: RestSendingDomainFragment) {
  return {
    ...presentDomainRow(domain),
    uses_ed25519: domain.usesEd25519,
    return_path_host: domain.returnPathHost,
    return_path_ready: domain.returnPathReady,
    tracking_host: domain.trackingHost,
    tracking_url: domain.trackingUrl,
    verified_at: domain.verifiedAt === null ? null : restTime(domain.verifiedAt),
    failing_since: domain.failingSince === null ? null : restTime(domain.failingSince),
    spf_lookups: domain.spfLookups,
    dmarc_policy: domain.dmarc?.policy ?? null,
    organizational_domain: domain.dmarc?.organizationalDomain ?? null,
    records: domain.records.map(({ isRequired, ...record }) => ({ ...record, is_required: isRequired })),
  };
}
