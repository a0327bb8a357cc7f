/**
 * The consequences of a check of a domain's records: its state, which keys sign, whether its hosts are used. A failed look-up
 * changes nothing; a missing record ends the signature only after a grace period.
 */
import type { Transaction } from '../../../db/database.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import { deleteRetiredKeys, keysOf, moveKey, noteSeenKeys, type StoredKey } from './dkim-key-store.ts';
import { ownershipValue } from './domain-records.ts';
import type { DomainCheck } from './read-domain-records.ts';
import type { DomainStatus } from './sending-domain-fields.ts';
import {
  isGraceOver,
  lockDomain,
  lockOtherHolder,
  loseDomain,
  writeCheck,
  type DomainKey,
} from './sending-domain-store.ts';
import { type DomainChecks, type RecordFinding, type RecordStatus, type SendingDomain } from './sending-domain.ts';

/** The notifications to its users; `taken`: another customer has proved the domain. */
export type DomainNotification = 'failing' | 'lost' | 'taken' | 'back';

export interface Settled {
  readonly status: DomainStatus;
  readonly notification: readonly {
    readonly customerId: bigint;
    readonly domainId: bigint;
    readonly notification: DomainNotification;
  }[];
}

const TAKEN = 'Another customer of this installation has proved that this domain is theirs, and still does.';

/** Records the findings and their consequences. Undefined when the domain was deleted meanwhile. */
export async function recordCheck(
  tx: Transaction,
  key: DomainKey & { name: string },
  look: DomainCheck,
): Promise<Settled | undefined> {
  // Claims of the same name wait here, so that two checks never lock each other's domain.
  await lockUntilCommit(tx, `mailwright:sending-domain:${key.name}`);
  const domain = await lockDomain(tx, key);
  if (!domain) return undefined;
  const proved = proofOf(look);
  const holder = proved === 'verified' ? await lockOtherHolder(tx, domain) : undefined;
  const holderStays =
    holder !== undefined && look.proofs.some((value) => value.trim() === ownershipValue(holder.token));
  const status = holderStays ? domain.status : nextStatus(domain, proved, await isGraceOver(tx, domain));
  // Its proof is gone from the place of the new one: no grace period for a former owner.
  if (holder && !holderStays) await loseDomain(tx, holder);
  if (status === 'verified') await moveKeys(tx, domain, look);
  await deleteRetiredKeys(tx, domain);
  await writeDomain(tx, domain, {
    status,
    look,
    ownership: holderStays ? { ...look.ownership, status: 'wrong', problems: [TAKEN] } : look.ownership,
  });
  const own = notificationOf(domain.status, status);
  return {
    status,
    notification: [
      ...(own ? [{ customerId: domain.customerId, domainId: domain.id, notification: own }] : []),
      ...(holder && !holderStays
        ? [{ customerId: holder.customerId, domainId: holder.id, notification: 'taken' as const }]
        : []),
    ],
  };
}

/** The domain is proved while its token and one of its keys are found. */
function proofOf({ ownership, dkim }: DomainCheck): RecordStatus {
  const keys = Array.from(dkim.values(), ({ status }) => status);
  if (ownership.status === 'verified' && keys.includes('verified')) return 'verified';
  if (ownership.status === 'unknown' || (ownership.status === 'verified' && keys.includes('unknown'))) return 'unknown';
  return 'missing';
}

function nextStatus({ status }: SendingDomain, proved: RecordStatus, isGraceOver: boolean): DomainStatus {
  if (proved === 'verified') return 'verified';
  if (proved === 'unknown') return status;
  if (status === 'verified') return 'failing';
  return status === 'failing' && isGraceOver ? 'lost' : status;
}

/** New keys that are found replace older ones of their kind; for the others it is recorded which were found. */
async function moveKeys(tx: Transaction, domain: SendingDomain, look: DomainCheck): Promise<void> {
  const keys = await keysOf(tx, domain);
  const isSeen = ({ selector }: StoredKey) => look.dkim.get(selector)?.status;
  for (const key of keys.filter(({ status }) => status === 'new')) {
    if (isSeen(key) !== 'verified') continue;
    await moveKey(tx, domain, { id: key.id, to: 'active' });
    const older = keys.filter(({ status, algorithm }) => status === 'active' && algorithm === key.algorithm);
    for (const { id } of older) await moveKey(tx, domain, { id, to: 'retired' });
  }
  const missing = keys
    .filter((key) => isSeen(key) === 'missing' || isSeen(key) === 'wrong')
    .map(({ selector }) => selector);
  const seen = keys.filter((key) => isSeen(key) === 'verified').map(({ selector }) => selector);
  await noteSeenKeys(tx, domain, { missing, seen });
}

interface Written {
  readonly status: DomainStatus;
  readonly look: DomainCheck;
  readonly ownership: RecordFinding;
}

async function writeDomain(
  tx: Transaction,
  domain: SendingDomain,
  { status, look, ownership }: Written,
): Promise<void> {
  const holds = status === 'verified' || status === 'failing';
  const returnPath = look.returnPath?.status;
  const isReady = returnPath === 'unknown' ? domain.returnPathReady : returnPath === 'verified';
  const trackingUrl = look.trackingUrl ?? domain.trackingUrl;
  await writeCheck(tx, domain, {
    status,
    checks: checksOf(domain, look, ownership),
    returnPathReady: holds && isReady,
    trackingUrl: holds ? trackingUrl : '',
  });
}

function checksOf(domain: SendingDomain, look: DomainCheck, ownership: RecordFinding): DomainChecks {
  const { foundAt, record, policy, organizationalDomain, dkimAlignment, spfAlignment } = look.dmarc;
  const messages = (problems: readonly { message: string }[]) => problems.map(({ message }) => message);
  const statusOf = (
    report: { record: string | null; problems: readonly { code: string }[] },
    minor: ReadonlySet<string>,
  ) => {
    if (report.problems.some(({ code }) => code === 'LOOKUP_FAILED')) return 'unknown';
    if (report.record === null) return report.problems.every(({ code }) => code === 'NO_RECORD') ? 'missing' : 'wrong';
    return report.problems.every(({ code }) => minor.has(code)) ? 'verified' : 'wrong';
  };
  const records: RecordFinding[] = [
    ownership,
    ...look.dkim.values(),
    {
      kind: 'spf',
      name: domain.name,
      status: statusOf(look.spf, MINOR_SPF),
      seen: look.spf.record === null ? [] : [look.spf.record],
      problems: messages(look.spf.problems),
    },
    {
      kind: 'dmarc',
      name: foundAt ?? `_dmarc.${domain.name}`,
      status: statusOf(look.dmarc, MINOR_DMARC),
      seen: record === null ? [] : [record],
      problems: messages(look.dmarc.problems),
    },
    ...[look.returnPath, look.tracking].filter((found) => found !== null),
  ];
  return {
    records,
    spfLookups: look.spf.record === null ? null : look.spf.lookups,
    dmarc: { foundAt, record, policy, organizationalDomain, dkimAlignment, spfAlignment },
  };
}

/** Warnings only; mail passes. */
const MINOR_SPF = new Set(['USES_PTR', 'NO_END']);
const MINOR_DMARC = new Set(['OBSOLETE_TAG', 'UNKNOWN_TAG', 'TESTING', 'BAD_REPORT_ADDRESS']);

function notificationOf(before: DomainStatus, after: DomainStatus): DomainNotification | undefined {
  if (before === after) return undefined;
  if (after === 'failing' || after === 'lost') return after;
  return before === 'failing' && after === 'verified' ? 'back' : undefined;
}
