/** DMARC records as RFC 9989 reads them: forty zones, what receivers make of each, and what its owner is told. */
import { dmarc } from 'mailauth/lib/dmarc/index.js';
import { expect, test } from 'vitest';
import { checkDmarc, targetsOf } from '../../../src/domain/sending/domains/dmarc.ts';
import { zoneQuery, zoneOf } from '../../support/dns-zone.ts';

const RUA = 'rua=mailto:d@example.com';

interface Expected {
  /** Where the record that counts stands; null: there is none. */
  readonly at: string | null;
  readonly policy: string | null;
  readonly org?: string;
  readonly problems?: readonly string[];
}
type Case = [what: string, domain: string, zone: Record<string, string | string[]>, expected: Expected];

const HOME = { at: '_dmarc.example.com', org: 'example.com' };
const ORG = { ...HOME };
const DEEP = 'a.b.c.d.e.f.g.h.i.example.com';

const cases: Case[] = [
  ['none', 'example.com', { '_dmarc.example.com': 'v=DMARC1; p=none' }, { ...HOME, policy: 'none' }],
  ['quarantine', 'example.com', { '_dmarc.example.com': 'v=DMARC1; p=quarantine;' }, { ...HOME, policy: 'quarantine' }],
  [
    'reject with reports',
    'example.com',
    { '_dmarc.example.com': `v=DMARC1;p=reject;${RUA}` },
    { ...HOME, policy: 'reject' },
  ],
  [
    'white space everywhere',
    'example.com',
    { '_dmarc.example.com': 'v = DMARC1 ; p = reject ; ' },
    { ...HOME, policy: 'reject' },
  ],
  ['capitals in a value', 'example.com', { '_dmarc.example.com': 'v=DMARC1; p=Reject' }, { ...HOME, policy: 'reject' }],
  [
    'p not second',
    'example.com',
    { '_dmarc.example.com': `v=DMARC1; ${RUA}; p=reject` },
    { ...HOME, policy: 'reject' },
  ],
  ['nothing at all', 'example.com', {}, { at: null, policy: null, org: 'example.com', problems: ['NO_RECORD'] }],
  // The tags that went.
  [
    'pct',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; pct=20' },
    { ...HOME, policy: 'reject', problems: ['OBSOLETE_TAG'] },
  ],
  [
    'pct=0 is no testing any more',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; pct=0' },
    { ...HOME, policy: 'reject', problems: ['OBSOLETE_TAG'] },
  ],
  [
    'rf',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; rf=afrf' },
    { ...HOME, policy: 'none', problems: ['OBSOLETE_TAG'] },
  ],
  [
    'ri',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; ri=3600' },
    { ...HOME, policy: 'none', problems: ['OBSOLETE_TAG'] },
  ],
  [
    'all three',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; pct=100; rf=afrf; ri=86400' },
    { ...HOME, policy: 'none', problems: ['OBSOLETE_TAG', 'OBSOLETE_TAG', 'OBSOLETE_TAG'] },
  ],
  [
    'the size of reports',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; rua=mailto:d@example.com!10m' },
    { ...HOME, policy: 'none', problems: ['OBSOLETE_TAG'] },
  ],
  // The tags that came.
  [
    't=y makes reject quarantine',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; t=y' },
    { ...HOME, policy: 'quarantine', problems: ['TESTING'] },
  ],
  [
    't=y makes quarantine none',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=quarantine; t=y' },
    { ...HOME, policy: 'none', problems: ['TESTING'] },
  ],
  ['t=n', 'example.com', { '_dmarc.example.com': 'v=DMARC1; p=reject; t=n' }, { ...HOME, policy: 'reject' }],
  [
    't with another value',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; t=1' },
    { ...HOME, policy: 'reject', problems: ['BAD_VALUE'] },
  ],
  [
    'np for a name that does not exist',
    'gone.example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; sp=quarantine; np=reject' },
    { ...ORG, policy: 'reject' },
  ],
  [
    'np not for a name that exists',
    'here.example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; sp=quarantine; np=reject', 'A here.example.com': ['192.0.2.1'] },
    { ...ORG, policy: 'quarantine' },
  ],
  [
    'a wrong np',
    'example.com',
    { '_dmarc.example.com': `v=DMARC1; p=reject; np=maybe; ${RUA}` },
    { ...HOME, policy: 'none', problems: ['BAD_VALUE', 'NO_POLICY'] },
  ],
  [
    'psd=n stops the walk',
    'a.mail.example.com',
    { '_dmarc.mail.example.com': 'v=DMARC1; p=reject; psd=n', '_dmarc.example.com': 'v=DMARC1; p=none' },
    { at: '_dmarc.mail.example.com', policy: 'reject', org: 'mail.example.com' },
  ],
  [
    'psd=y makes the name below it the organization',
    'a.b.shop.example',
    { '_dmarc.example': 'v=DMARC1; p=reject; psd=y' },
    { at: '_dmarc.example', policy: 'reject', org: 'shop.example' },
  ],
  [
    'psd=y, and a record of the organization',
    'a.shop.example',
    { '_dmarc.example': 'v=DMARC1; p=reject; psd=y', '_dmarc.shop.example': 'v=DMARC1; p=none' },
    { at: '_dmarc.shop.example', policy: 'none', org: 'shop.example' },
  ],
  [
    'psd=y at the sender itself',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; psd=y' },
    { ...HOME, policy: 'reject', problems: ['PUBLIC_SUFFIX'] },
  ],
  [
    'psd=u is as if it were not there',
    'a.example.com',
    { '_dmarc.a.example.com': 'v=DMARC1; p=none; psd=u', '_dmarc.example.com': 'v=DMARC1; p=reject' },
    { at: '_dmarc.a.example.com', policy: 'none', org: 'example.com' },
  ],
  // The walk.
  [
    'sp for a subdomain',
    'news.example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; sp=reject' },
    { ...ORG, policy: 'reject' },
  ],
  [
    'p for a subdomain without sp',
    'news.example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=quarantine' },
    { ...ORG, policy: 'quarantine' },
  ],
  [
    'a record of its own',
    'news.example.com',
    { '_dmarc.news.example.com': 'v=DMARC1; p=none', '_dmarc.example.com': 'v=DMARC1; p=reject; sp=reject' },
    { at: '_dmarc.news.example.com', policy: 'none', org: 'example.com' },
  ],
  [
    'the fewest labels are the organization',
    'a.b.example.com',
    { '_dmarc.b.example.com': 'v=DMARC1; p=reject', '_dmarc.example.com': 'v=DMARC1; p=none' },
    { ...ORG, policy: 'none' },
  ],
  [
    'eleven labels: the fifth to last is not asked first',
    DEEP,
    { [`_dmarc.${DEEP}`]: 'v=DMARC1; p=reject' },
    { at: `_dmarc.${DEEP}`, policy: 'reject', org: DEEP },
  ],
  [
    'eleven labels: the last seven are asked',
    DEEP,
    { '_dmarc.e.f.g.h.i.example.com': 'v=DMARC1; p=reject' },
    { at: '_dmarc.e.f.g.h.i.example.com', policy: 'reject', org: 'e.f.g.h.i.example.com' },
  ],
  [
    'eleven labels: what lies between is skipped',
    DEEP,
    { '_dmarc.d.e.f.g.h.i.example.com': 'v=DMARC1; p=reject' },
    { at: null, policy: null, org: DEEP, problems: ['NO_RECORD'] },
  ],
  // Two records, and wrong places.
  [
    'two records count as none',
    'example.com',
    { '_dmarc.example.com': ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] },
    { at: null, policy: null, problems: ['TWO_RECORDS'] },
  ],
  [
    'two at a subdomain: the organization counts',
    'a.example.com',
    { '_dmarc.a.example.com': ['v=DMARC1; p=none', 'v=DMARC1; p=none'], '_dmarc.example.com': 'v=DMARC1; p=reject' },
    { ...ORG, policy: 'reject', problems: ['TWO_RECORDS'] },
  ],
  [
    'a record beside other texts',
    'example.com',
    { '_dmarc.example.com': ['some other text', 'v=DMARC1; p=reject', 'v=spf1 -all'] },
    { ...HOME, policy: 'reject' },
  ],
  [
    'at the domain itself',
    'example.com',
    { 'example.com': ['v=spf1 -all', 'v=DMARC1; p=reject'] },
    { at: null, policy: null, problems: ['WRONG_PLACE', 'NO_RECORD'] },
  ],
  [
    'with the domain twice',
    'example.com',
    { '_dmarc.example.com.example.com': 'v=DMARC1; p=reject' },
    { at: null, policy: null, problems: ['WRONG_PLACE', 'NO_RECORD'] },
  ],
  [
    'without the underscore',
    'example.com',
    { 'dmarc.example.com': 'v=DMARC1; p=reject' },
    { at: null, policy: null, problems: ['WRONG_PLACE', 'NO_RECORD'] },
  ],
  // Records that are none, or nearly.
  [
    'v in small letters',
    'example.com',
    { '_dmarc.example.com': 'v=dmarc1; p=reject' },
    { at: null, policy: null, problems: ['NOT_A_RECORD', 'NO_RECORD'] },
  ],
  [
    'v not first',
    'example.com',
    { '_dmarc.example.com': 'p=reject; v=DMARC1' },
    { at: null, policy: null, problems: ['NOT_A_RECORD', 'NO_RECORD'] },
  ],
  [
    'another version',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC12; p=reject' },
    { at: null, policy: null, problems: ['NOT_A_RECORD', 'NO_RECORD'] },
  ],
  [
    'no p, but reports',
    'example.com',
    { '_dmarc.example.com': `v=DMARC1; ${RUA}` },
    { ...HOME, policy: 'none', problems: ['NO_POLICY'] },
  ],
  [
    'no p and no reports',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; adkim=s' },
    { ...HOME, policy: null, problems: ['NO_POLICY'] },
  ],
  [
    'a wrong p and reports',
    'example.com',
    { '_dmarc.example.com': `v=DMARC1; p=block; ${RUA}` },
    { ...HOME, policy: 'none', problems: ['BAD_VALUE', 'NO_POLICY'] },
  ],
  [
    'a wrong sp',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; sp=block' },
    { ...HOME, policy: null, problems: ['BAD_VALUE', 'NO_POLICY'] },
  ],
  [
    'commas instead of semicolons',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject, sp=reject' },
    { ...HOME, policy: null, problems: ['BAD_VALUE', 'NO_POLICY'] },
  ],
  [
    'an unknown tag',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; x-y=1; foo=bar' },
    { ...HOME, policy: 'reject', problems: ['BAD_VALUE', 'UNKNOWN_TAG'] },
  ],
  [
    'a tag twice',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=reject; p=none' },
    { at: null, policy: null, problems: ['TAG_TWICE', 'NO_RECORD'] },
  ],
  [
    'reports to what is no address',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; rua=d@example.com' },
    { ...HOME, policy: 'none', problems: ['BAD_REPORT_ADDRESS'] },
  ],
  [
    'strict alignment',
    'example.com',
    { '_dmarc.example.com': 'v=DMARC1; p=none; adkim=s; aspf=s; fo=1:d' },
    { ...HOME, policy: 'none' },
  ],
  [
    'a name server that fails says nothing',
    'example.com',
    { '_dmarc.example.com': 'fail' },
    { at: null, policy: null, problems: ['LOOKUP_FAILED'] },
  ],
];

test.each(cases)('%s (%s)', async (_what, domain, records, expected) => {
  const report = await checkDmarc(zoneQuery(zoneOf(records)), domain);
  expect({
    at: report.foundAt,
    policy: report.policy,
    org: report.organizationalDomain,
    problems: report.problems.map(({ code }) => code),
  }).toEqual({
    org: domain,
    problems: [],
    ...expected,
  });
});

test('another library finds the same policy for the same organization', async () => {
  const differing: unknown[] = [];
  for (const [what, domain, records, expected] of cases.filter(([, , zone]) => !Object.values(zone).includes('fail'))) {
    const queryDns = zoneQuery(zoneOf(records));
    const resolver = async (name: string, type: string) => {
      const answer = await queryDns(type === 'TXT' ? 'TXT' : type === 'A' ? 'A' : 'CNAME', name);
      if (answer.status === 'found') return type === 'TXT' ? answer.values.map((value) => [value]) : [...answer.values];
      throw Object.assign(new Error('nothing'), {
        code: answer.status === 'none' && answer.exists ? 'ENODATA' : 'ENOTFOUND',
      });
    };
    const theirs = await dmarc({ headerFrom: [domain], spfDomains: [], dkimDomains: [], resolver, strict: true });
    if (!theirs) throw new Error(what);
    const policy = theirs.policy ?? null;
    if (policy !== expected.policy || theirs.domain !== (expected.org ?? domain)) differing.push({ what, theirs });
  }
  expect(differing).toEqual([]);
});

test('the names that are asked: eight at most, the last one of one label', () => {
  expect(targetsOf('example.com')).toEqual(['example.com', 'com']);
  expect(targetsOf('a.b.c.d.e.f.g')).toHaveLength(7);
  expect(targetsOf('a.b.c.d.e.f.g.h')).toEqual([
    ...['a.b.c.d.e.f.g.h', 'b.c.d.e.f.g.h', 'c.d.e.f.g.h', 'd.e.f.g.h', 'e.f.g.h', 'f.g.h', 'g.h', 'h'],
  ]);
  expect(targetsOf(DEEP)).toEqual([
    ...[DEEP, 'e.f.g.h.i.example.com', 'f.g.h.i.example.com', 'g.h.i.example.com', 'h.i.example.com'],
    ...['i.example.com', 'example.com', 'com'],
  ]);
});
