/** Queries the DNS for every record of a sending domain and returns what was found. Changes nothing. */
import { limitedDnsQuery, type DnsAnswer, type DnsQuery, type DnsType } from '../../../lib/dns-records.ts';
import { checkDmarc, type DmarcReport } from './dmarc.ts';
import { dkimName, ownershipName, ownershipValue } from './domain-records.ts';
import type { DomainSite } from './domain-site.ts';
import type { PublicDkimKey, RecordFinding, RecordKind, RecordStatus, SendingDomain } from './sending-domain.ts';
import { checkSpf, type SpfReport } from './spf.ts';

export interface DomainCheck {
  readonly ownership: RecordFinding;
  /** Proofs of other customers beside the domain's own. */
  readonly proofs: readonly string[];
  readonly dkim: ReadonlyMap<string, RecordFinding>;
  readonly spf: SpfReport;
  readonly dmarc: DmarcReport;
  readonly returnPath: RecordFinding | null;
  readonly tracking: RecordFinding | null;
  /** The address of the tracking host; undefined when it is not known. */
  readonly trackingUrl: string | undefined;
}

/** Finds the address under which a host leads to this installation, safely enough for mail; else the text says why not. */
export type TrackingProbe = (host: string) => Promise<{ url: string } | { refusal: string }>;

/**
 * The time for all queries about one domain. Its records can name up to forty other names and their name servers: with slow
 * answers they would block the check, and all domains after it, for minutes.
 */
const LOOK_MS_MAX = 20_000;
const SEEN_MAX = 5;
const SEEN_LENGTH_MAX = 1_000;
const QUOTED = 'It contains quotation marks: they are no part of the value, remove them.';

export async function readDomainRecords(
  { site: { queryDns, ...names }, probe }: { site: DomainSite; probe: TrackingProbe },
  domain: SendingDomain,
  keys: readonly PublicDkimKey[],
): Promise<DomainCheck> {
  const site: DomainSite = { ...names, queryDns: limitedDnsQuery(LOOK_MS_MAX, queryDns) };
  const [ownership, dkim, spf, dmarc, returnPath, tracking] = await Promise.all([
    checkProof(site, domain),
    Promise.all(keys.filter(({ status }) => status !== 'retired').map((key) => checkKey(site, domain, key))),
    checkSpf(site.queryDns, domain.name, site.bounceDomain === null ? site.spfTerms : []),
    checkDmarc(site.queryDns, domain.name),
    checkReturnPath(site, domain),
    checkTracking(site, domain, probe),
  ]);
  return {
    ...ownership,
    dkim: new Map(dkim),
    spf,
    dmarc,
    returnPath,
    ...tracking,
  };
}

async function checkProof(
  { queryDns }: DomainSite,
  domain: SendingDomain,
): Promise<Pick<DomainCheck, 'ownership' | 'proofs'>> {
  const place = { kind: 'ownership', name: ownershipName(domain.name) } as const;
  const answer = await queryDns('TXT', place.name);
  const wanted = ownershipValue(domain.token);
  const isIn = (values: readonly string[]) => values.some((value) => value.trim() === wanted);
  if (answer.status !== 'found')
    return {
      ownership: await notThere(queryDns, { place, answer, type: 'TXT', domain: domain.name, isIn }),
      proofs: [],
    };
  const { values } = answer;
  if (isIn(values)) return { ownership: finding(place, answer, { status: 'verified' }), proofs: values };
  const problem = values.includes(`"${wanted}"`) ? QUOTED : 'It is not the value of this domain.';
  return { ownership: finding(place, answer, { status: 'wrong', problems: [problem] }), proofs: values };
}

async function checkKey(site: DomainSite, domain: SendingDomain, key: PublicDkimKey): Promise<[string, RecordFinding]> {
  const place = { kind: 'dkim', name: dkimName(domain.name, key.selector) } as const;
  const answer = await site.queryDns('TXT', place.name);
  if (answer.status !== 'found') {
    const isIn = (values: readonly string[]) => keyProblems(values, key).length === 0;
    return [key.selector, await notThere(site.queryDns, { place, answer, type: 'TXT', domain: domain.name, isIn })];
  }
  const problems = keyProblems(answer.values, key);
  return [key.selector, finding(place, answer, { status: problems.length === 0 ? 'verified' : 'wrong', problems })];
}

function keyProblems(values: readonly string[], { publicKey, algorithm }: PublicDkimKey): string[] {
  if (values.length > 1) return ['There are several records; receivers then may take any of them.'];
  if (values[0]?.includes('"')) return [QUOTED];
  const tags = new Map(
    (values[0] ?? '').split(';').map((tag) => {
      const equals = tag.indexOf('=');
      return [tag.slice(0, equals).trim(), tag.slice(equals + 1).replace(/\s/g, '')] as const;
    }),
  );
  const problems: string[] = [];
  if ((tags.get('v') ?? 'DKIM1') !== 'DKIM1') problems.push('It does not begin with v=DKIM1.');
  if ((tags.get('k') ?? 'rsa') !== (algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'))
    problems.push('It is for another kind of key (k=).');
  if (tags.get('p') !== publicKey)
    problems.push(tags.get('p') ? 'It is another key, or a part of it is missing (p=).' : 'It has no key (p=).');
  return problems;
}

/** Mail for it has to go where mail for the bounce domain goes: by CNAME, or by the same MX. */
async function checkReturnPath(
  site: DomainSite,
  { name: domain, returnPathHost }: SendingDomain,
): Promise<RecordFinding | null> {
  const { bounceDomain } = site;
  if (bounceDomain === null) return null;
  const place = { kind: 'return_path', name: returnPathHost } as const;
  const cname = await site.queryDns('CNAME', returnPathHost);
  if (cname.status === 'found') {
    const isRight = cname.values.includes(bounceDomain);
    if (isRight) return finding(place, cname, { status: 'verified' });
    return finding(place, cname, { status: 'wrong', problems: [`It does not lead to ${bounceDomain}.`] });
  }
  const mx = await site.queryDns('MX', returnPathHost);
  if (mx.status !== 'found') {
    const isIn = (values: readonly string[]) => values.includes(bounceDomain);
    return notThere(site.queryDns, { place, answer: mx, type: 'CNAME', domain, isIn });
  }
  const ours = await site.queryDns('MX', bounceDomain);
  if (ours.status === 'failed') return finding(place, ours);
  const hosts = ours.status === 'found' ? ours.values : [bounceDomain];
  if (!mx.values.every((host) => hosts.includes(host)))
    return finding(place, mx, {
      status: 'wrong',
      problems: [`Its mail does not go where that of ${bounceDomain} goes.`],
    });
  const { problems } = await checkSpf(site.queryDns, returnPathHost, site.spfTerms);
  return finding(place, mx, { status: 'verified', problems: problems.map(({ message }) => message) });
}

async function checkTracking(
  site: DomainSite,
  { name: domain, trackingHost }: SendingDomain,
  probe: TrackingProbe,
): Promise<Pick<DomainCheck, 'tracking' | 'trackingUrl'>> {
  const { host } = site;
  if (host === null) return { tracking: null, trackingUrl: '' };
  const place = { kind: 'tracking', name: trackingHost } as const;
  const cname = await site.queryDns('CNAME', trackingHost);
  // A proxy or a flattened record has addresses only: the probe is made in any case.
  const answer = cname.status === 'none' ? await site.queryDns('A', trackingHost) : cname;
  if (answer.status === 'failed') return { tracking: finding(place, answer), trackingUrl: undefined };
  if (answer.status === 'none') {
    const isIn = (values: readonly string[]) => values.includes(host);
    return { tracking: await notThere(site.queryDns, { place, answer, type: 'CNAME', domain, isIn }), trackingUrl: '' };
  }
  const found = await probe(trackingHost);
  if ('url' in found) return { tracking: finding(place, answer, { status: 'verified' }), trackingUrl: found.url };
  return { tracking: finding(place, answer, { status: 'wrong', problems: [found.refusal] }), trackingUrl: '' };
}

interface Missed {
  readonly place: { kind: RecordKind; name: string };
  readonly answer: DnsAnswer;
  readonly type: DnsType;
  readonly domain: string;
  /** Whether these values contain the expected one. */
  isIn(values: readonly string[]): boolean;
}

/**
 * Many forms append the domain to any name: a record that was entered with the whole name then has the domain twice, where only
 * we search.
 */
async function notThere(queryDns: DnsQuery, { place, answer, type, domain, isIn }: Missed): Promise<RecordFinding> {
  if (answer.status !== 'none') return finding(place, answer);
  const twice = `${place.name}.${domain}`;
  const there = await queryDns(type, twice);
  if (there.status !== 'found' || !isIn(there.values)) return finding(place, answer);
  const label = place.name.slice(0, -domain.length - 1);
  return finding(place, answer, {
    problems: [`It is at ${twice}: enter the name as ${label}, the form adds ${domain} automatically.`],
  });
}

function finding(
  place: { kind: RecordKind; name: string },
  answer: DnsAnswer,
  { status, problems = [] }: { status?: RecordStatus; problems?: readonly string[] } = {},
): RecordFinding {
  const seen = answer.status === 'found' ? answer.values.slice(0, SEEN_MAX) : [];
  const isUnanswered = answer.status === 'failed';
  return {
    ...place,
    status: status ?? (isUnanswered ? 'unknown' : 'missing'),
    seen: seen.map((value) => value.slice(0, SEEN_LENGTH_MAX)),
    problems: isUnanswered ? [`The DNS gave no answer: ${answer.reason}.`] : [...problems],
  };
}
