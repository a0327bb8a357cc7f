/** One DMARC record, read as RFC 9989 4.7 and 4.10.1 demand: its policy, and what is wrong or obsolete. */
export type DmarcProblem =
  | 'LOOKUP_FAILED'
  | 'NO_RECORD'
  | 'TWO_RECORDS'
  | 'WRONG_PLACE'
  | 'NOT_A_RECORD'
  | 'NO_POLICY'
  | 'BAD_VALUE'
  | 'OBSOLETE_TAG'
  | 'UNKNOWN_TAG'
  | 'TAG_TWICE'
  | 'BAD_REPORT_ADDRESS'
  | 'PUBLIC_SUFFIX'
  | 'TESTING';

export interface DmarcFinding {
  readonly code: DmarcProblem;
  readonly message: string;
}

export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const;
export type DmarcPolicy = (typeof dmarcPolicies)[number];

export interface DmarcRecord {
  readonly text: string;
  /** Null: receivers ignore the faulty record. */
  readonly policy: DmarcPolicy | null;
  readonly subdomainPolicy: DmarcPolicy | null;
  readonly absentPolicy: DmarcPolicy | null;
  readonly psd: 'y' | 'n' | 'u';
  readonly isTesting: boolean;
  readonly dkimAlignment: 'relaxed' | 'strict';
  readonly spfAlignment: 'relaxed' | 'strict';
  /** Receivers treat it as absent. */
  readonly isInvalid: boolean;
  readonly findings: readonly DmarcFinding[];
}

const BEGINNING = /^[vV][ \t]*=[ \t]*DMARC1[ \t]*(;|$)/;
const OBSOLETE: Readonly<Record<string, string>> = {
  pct: 'use t=y to test',
  rf: 'it had one value only',
  ri: 'reports come daily',
};
const VALUES: Readonly<Record<string, RegExp>> = {
  p: /^(none|quarantine|reject)$/i,
  sp: /^(none|quarantine|reject)$/i,
  np: /^(none|quarantine|reject)$/i,
  psd: /^[ynu]$/i,
  t: /^[yn]$/i,
  adkim: /^[rs]$/i,
  aspf: /^[rs]$/i,
  fo: /^[01ds](\s*:\s*[01ds])*$/i,
};
const REPORT_TAGS = new Set(['rua', 'ruf']);
/** `mailto:` with an address, and the size limit that RFC 7489 had. */
const REPORT_ADDRESS = /^mailto:[^\s@,;!]+@[^\s@,;!.]+(?:\.[^\s@,;!.]+)+(!\d+[kmgt]?)?$/i;

/** Whether a text is meant as a DMARC record. */
export function isDmarc(text: string): boolean {
  return BEGINNING.test(text);
}

/** Reads a text that `isDmarc`. */
export function parseDmarc(text: string): DmarcRecord {
  const findings: DmarcFinding[] = [];
  const tags = tagsOf(text, findings);
  for (const [tag, value] of tags) findings.push(...findingsOn(tag, value));
  const policyOf = (tag: string): DmarcPolicy | null =>
    dmarcPolicies.find((policy) => policy === tags.get(tag)?.toLowerCase()) ?? null;
  const letter = (tag: string) => tags.get(tag)?.toLowerCase();
  return {
    text,
    policy: askedPolicy(tags, policyOf('p'), findings),
    subdomainPolicy: policyOf('sp'),
    absentPolicy: policyOf('np'),
    psd: letter('psd') === 'y' ? 'y' : letter('psd') === 'n' ? 'n' : 'u',
    isTesting: letter('t') === 'y',
    dkimAlignment: letter('adkim') === 's' ? 'strict' : 'relaxed',
    spfAlignment: letter('aspf') === 's' ? 'strict' : 'relaxed',
    isInvalid: findings.some(({ code }) => code === 'TAG_TWICE'),
    findings,
  };
}

function tagsOf(text: string, findings: DmarcFinding[]): Map<string, string> {
  const tags = new Map<string, string>();
  for (const part of text.split(';').slice(1)) {
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    const tag = part.slice(0, equals).trim().toLowerCase();
    if (equals === -1 || !/^[a-z][a-z0-9_]*$/.test(tag)) {
      findings.push({ code: 'BAD_VALUE', message: `"${part.trim().slice(0, 100)}" is no tag with a value.` });
    } else if (tags.has(tag)) {
      findings.push({
        code: 'TAG_TWICE',
        message: `${tag} is there twice, which makes the whole record invalid (RFC 6376 3.2).`,
      });
    } else {
      tags.set(tag, part.slice(equals + 1).trim());
    }
  }
  return tags;
}

function findingsOn(tag: string, value: string): DmarcFinding[] {
  const hint = OBSOLETE[tag];
  if (hint !== undefined)
    return [
      { code: 'OBSOLETE_TAG', message: `${tag} is no part of DMARC any more (RFC 9989): leave it out; ${hint}.` },
    ];
  if (REPORT_TAGS.has(tag)) return reportFindings(tag, value);
  const pattern = VALUES[tag];
  if (!pattern) return [{ code: 'UNKNOWN_TAG', message: `${tag} is not a tag of DMARC; receivers ignore it.` }];
  return pattern.test(value)
    ? []
    : [{ code: 'BAD_VALUE', message: `${tag}=${value.slice(0, 100)} is not a value of ${tag}.` }];
}

function reportFindings(tag: string, value: string): DmarcFinding[] {
  const addresses = value.split(',').map((address) => address.trim());
  return addresses.flatMap((address): DmarcFinding[] => {
    if (!REPORT_ADDRESS.test(address))
      return [{ code: 'BAD_REPORT_ADDRESS', message: `${tag}: "${address.slice(0, 100)}" is no mailto: address.` }];
    if (!/!\d/.test(address)) return [];
    return [
      { code: 'OBSOLETE_TAG', message: `${tag}: the size limit in ${address.slice(0, 100)} is ignored (RFC 9989).` },
    ];
  });
}

/**
 * RFC 9989 4.10.1: without a valid `p`, or with a wrong `sp` or `np`, a record that names somebody to report to counts
 * as `p=none`, and any other as no record.
 */
function askedPolicy(
  tags: ReadonlyMap<string, string>,
  policy: DmarcPolicy | null,
  findings: DmarcFinding[],
): DmarcPolicy | null {
  const isWrong = (tag: string) => tags.has(tag) && !VALUES[tag]?.test(tags.get(tag) ?? '');
  if (policy !== null && !isWrong('sp') && !isWrong('np')) return policy;
  const reports = tags.get('rua')?.split(',') ?? [];
  const counts = reports.some((address) => REPORT_ADDRESS.test(address.trim())) ? 'as p=none' : 'as no record at all';
  const what = policy === null ? 'p says no policy' : 'sp or np is wrong';
  findings.push({ code: 'NO_POLICY', message: `${what}, so the record counts ${counts}.` });
  return counts === 'as p=none' ? 'none' : null;
}
