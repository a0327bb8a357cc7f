/**
 * DMARC (RFC 9989) of a domain as receivers find it: the record by the tree walk, its policy, and what its owner should correct.
 * Evaluates no message.
 */
import type { DnsAnswer, DnsQuery } from '../../../lib/dns-records.ts';
import { isDmarc, parseDmarc, type DmarcFinding, type DmarcPolicy, type DmarcRecord } from './dmarc-record.ts';

export interface DmarcReport {
  /** The name of the record that counts (`_dmarc.example.com`), and its text. */
  readonly foundAt: string | null;
  readonly record: string | null;
  /** What receivers do with failing mail of this domain, with `t=y` considered; null: no DMARC. */
  readonly policy: DmarcPolicy | null;
  /** For relaxed alignment this domain must be the same on both sides. */
  readonly organizationalDomain: string;
  readonly dkimAlignment: 'relaxed' | 'strict';
  readonly spfAlignment: 'relaxed' | 'strict';
  readonly problems: readonly DmarcFinding[];
}

interface Step {
  readonly domain: string;
  readonly record: DmarcRecord;
}

/** RFC 9989 4.10: a name of eight labels or more is cut to seven after the first query, so there are at most eight. */
const LABELS_AFTER_FIRST = 7;

/** Finds the record that counts for mail from `domain`, and checks it. */
export async function checkDmarc(queryDns: DnsQuery, domain: string): Promise<DmarcReport> {
  const problems: DmarcFinding[] = [];
  const { steps, failed } = await walkTree(queryDns, domain, problems);
  const own = steps.find((step) => step.domain === domain);
  const organizationalDomain = organizationOf(steps, domain);
  const counts = own ?? steps.find((step) => step.domain === organizationalDomain) ?? publicSuffixOf(steps);
  if (!counts) {
    if (!failed && !problems.some(({ code }) => code === 'TWO_RECORDS'))
      problems.push(...(await lookElsewhere(queryDns, domain)), {
        code: 'NO_RECORD',
        message: `${domain} has no DMARC record.`,
      });
    return { ...NOTHING, organizationalDomain, problems };
  }
  const { record } = counts;
  problems.push(...record.findings);
  if (own && record.psd === 'y')
    problems.push({
      code: 'PUBLIC_SUFFIX',
      message: 'psd=y says that the domain is a public suffix such as co.uk: leave it out.',
    });
  const wanted = own ? record.policy : await inheritedPolicy(queryDns, domain, record);
  const policy = record.isTesting ? weakened(wanted) : wanted;
  if (record.isTesting)
    problems.push({ code: 'TESTING', message: `t=y: receivers only test; the policy counts as ${policy ?? 'none'}.` });
  return {
    foundAt: `_dmarc.${counts.domain}`,
    record: record.text,
    policy,
    organizationalDomain,
    dkimAlignment: record.dkimAlignment,
    spfAlignment: record.spfAlignment,
    problems,
  };
}

const NOTHING = {
  foundAt: null,
  record: null,
  policy: null,
  dkimAlignment: 'relaxed',
  spfAlignment: 'relaxed',
} as const;

async function walkTree(
  queryDns: DnsQuery,
  domain: string,
  problems: DmarcFinding[],
): Promise<{ steps: Step[]; failed: boolean }> {
  const steps: Step[] = [];
  for (const target of targetsOf(domain)) {
    const answer = await queryDns('TXT', `_dmarc.${target}`);
    if (answer.status === 'failed') {
      problems.push({ code: 'LOOKUP_FAILED', message: `_dmarc.${target}: ${answer.reason}.` });
      return { steps, failed: true };
    }
    const record = recordIn(answer, target, target === domain ? problems : []);
    if (record) steps.push({ domain: target, record });
    if (record && record.psd !== 'u') break;
  }
  return { steps, failed: false };
}

/** The names that are queried, in order (RFC 9989 4.10). */
export function targetsOf(domain: string): string[] {
  const labels = domain.split('.');
  const rest = labels.slice(Math.max(1, labels.length - LABELS_AFTER_FIRST));
  return [domain, ...rest.map((_label, index) => rest.slice(index).join('.'))];
}

/** The one record among the texts at a name; two or more count as none. */
function recordIn(answer: DnsAnswer, domain: string, problems: DmarcFinding[]): DmarcRecord | undefined {
  const texts = answer.status === 'found' ? answer.values : [];
  const records = texts.filter(isDmarc).map(parseDmarc);
  if (records.length > 1) {
    const message = `_dmarc.${domain} has ${records.length} DMARC records; receivers then use none. Keep one.`;
    problems.push({ code: 'TWO_RECORDS', message });
    return undefined;
  }
  const similar = texts.find((text) => /dmarc1|\bp\s*=/i.test(text));
  if (records.length === 0 && similar !== undefined) {
    const message = `"${similar.slice(0, 200)}" is not read as DMARC: a record must begin with exactly v=DMARC1.`;
    problems.push({ code: 'NOT_A_RECORD', message });
  }
  const [record] = records;
  if (!record?.isInvalid) return record;
  problems.push(...record.findings);
  return undefined;
}

/** RFC 9989 4.10.2. */
function organizationOf(steps: readonly Step[], domain: string): string {
  for (const step of steps) {
    if (step.record.psd === 'n') return step.domain;
    if (step.record.psd === 'y' && step.domain !== domain) return oneBelow(domain, step.domain);
  }
  // The walk goes up, so the last has the fewest labels.
  return steps.at(-1)?.domain ?? domain;
}

/** The part of `domain` that is one label longer than `suffix`. */
function oneBelow(domain: string, suffix: string): string {
  return domain
    .split('.')
    .slice(-(suffix.split('.').length + 1))
    .join('.');
}

function publicSuffixOf(steps: readonly Step[]): Step | undefined {
  return steps.find(({ record }) => record.psd === 'y');
}

/** A name without its own record uses `sp`, and `np` when it does not exist (RFC 9989 4.10.1). */
async function inheritedPolicy(queryDns: DnsQuery, domain: string, record: DmarcRecord): Promise<DmarcPolicy | null> {
  if (record.policy === null) return null;
  const forSubdomains = record.subdomainPolicy ?? record.policy;
  if (record.absentPolicy === null) return forSubdomains;
  const answer = await queryDns('A', domain);
  return answer.status === 'none' && !answer.exists ? record.absentPolicy : forSubdomains;
}

/** The policy weakened by `t=y` (RFC 9989 4.7). */
function weakened(policy: DmarcPolicy | null): DmarcPolicy | null {
  if (policy === 'reject') return 'quarantine';
  return policy === null ? null : 'none';
}

/** Common wrong places: the domain itself, or a name with the domain twice. */
async function lookElsewhere(queryDns: DnsQuery, domain: string): Promise<DmarcFinding[]> {
  for (const name of [domain, `_dmarc.${domain}.${domain}`, `dmarc.${domain}`]) {
    const answer = await queryDns('TXT', name);
    const record = answer.status === 'found' && answer.values.some(isDmarc);
    if (record)
      return [{ code: 'WRONG_PLACE', message: `There is a DMARC record at ${name}; it belongs to _dmarc.${domain}.` }];
  }
  return [];
}
