/** SPF records as receivers count them, and the resolver that asks for them, against a real DNS server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { domainRecords } from '../../../src/domain/sending/domains/domain-records.ts';
import { checkSpf } from '../../../src/domain/sending/domains/spf.ts';
import { limitedDnsQuery, createDnsQuery } from '../../../src/lib/dns-records.ts';
import { zoneQuery, startDnsServer, zoneOf, type DnsServer } from '../../support/dns-zone.ts';

const own = (record: string | string[], more: Record<string, string> = {}) => ({ 'example.com': record, ...more });
/** A chain of records, each with `each` in front of the include of the next. */
const chain = (length: number, each = '') =>
  Object.fromEntries(
    Array.from({ length }, (_, n) => [
      n === 0 ? 'example.com' : `s${n}.example`,
      `v=spf1 ${each}${n === length - 1 ? '' : `include:s${n + 1}.example `}~all`,
    ]),
  );
const includes = (count: number) => Array.from({ length: count }, (_, n) => `include:i${n}.example`).join(' ');
const targets = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`i${n}.example`, 'v=spf1 ip4:192.0.2.1 -all']));

type Case = [what: string, zone: Record<string, string | string[]>, lookups: number, problems: string[]];
const cases: Case[] = [
  ['addresses cost nothing', own('v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all'), 0, []],
  ['no record', { 'example.com': ['other'] }, 0, ['NO_RECORD']],
  ['no such name', {}, 0, ['NO_RECORD']],
  ['two records', own(['v=spf1 -all', 'v=spf1 mx -all']), 0, ['TWO_RECORDS']],
  ['a name that begins like one', own(['v=spf10 -all', 'v=spf1 -all']), 0, []],
  ['capitals', own('V=SPF1 MX -ALL'), 1, []],
  [
    'each kind counts one',
    own('v=spf1 a mx a:b.example mx:c.example/24 exists:%{i}.e.example ptr ~all'),
    6,
    ['USES_PTR'],
  ],
  ['ten are allowed', own(`v=spf1 ${includes(10)} -all`, targets(10)), 10, []],
  ['eleven are not', own(`v=spf1 ${includes(11)} -all`, targets(11)), 11, ['TOO_MANY_LOOKUPS']],
  ['ten in a chain', chain(11), 10, []],
  ['eleven in a chain', chain(12), 11, ['TOO_MANY_LOOKUPS']],
  ['hidden below includes', chain(4, 'a mx '), 11, ['TOO_MANY_LOOKUPS']],
  [
    'redirect counts, and what it leads to',
    own('v=spf1 a redirect=s.example', { 's.example': 'v=spf1 mx -all' }),
    3,
    [],
  ],
  ['redirect beside all is ignored', own('v=spf1 a -all redirect=s.example'), 1, []],
  ['what stands behind all is ignored', own('v=spf1 a -all include:gone.example mx'), 1, []],
  ['an include of nothing', own('v=spf1 include:gone.example -all'), 1, ['BROKEN_INCLUDE']],
  [
    'three look-ups that lead to nothing',
    own('v=spf1 include:a.example include:b.example include:c.example -all'),
    3,
    ['BROKEN_INCLUDE', 'TOO_MANY_VOID_LOOKUPS'],
  ],
  ['an include of itself ends', own('v=spf1 include:example.com -all'), 31, ['TOO_MANY_LOOKUPS']],
  [
    'a web of includes ends',
    own(
      `v=spf1 ${includes(5)} -all`,
      Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`i${n}.example`, `v=spf1 ${includes(5)} -all`])),
    ),
    31,
    ['TOO_MANY_LOOKUPS'],
  ],
  ['+all', own('v=spf1 a all'), 1, ['ALLOWS_ALL']],
  ['no end', own('v=spf1 a'), 1, ['NO_END']],
  ['a term that is none', own('v=spf1 a ipv4:192.0.2.1 -all'), 1, ['SYNTAX']],
  ['a name server that fails', own('v=spf1 include:s.example -all', { 's.example': 'fail' }), 1, ['LOOKUP_FAILED']],
];

test.each(cases)('%s', async (_what, records, lookups, problems) => {
  const report = await checkSpf(zoneQuery(zoneOf(records)), 'example.com', []);
  expect({ lookups: report.lookups, problems: report.problems.map(({ code }) => code) }).toEqual({ lookups, problems });
});

test('what this installation needs may stand in an include', async () => {
  const queryDns = zoneQuery(
    zoneOf(own('v=spf1 include:esp.example -all', { 'esp.example': 'v=spf1 ip4:192.0.2.7 -all' })),
  );
  const codes = async (terms: string[]) =>
    (await checkSpf(queryDns, 'example.com', terms)).problems.map(({ code }) => code);
  expect(await codes(['include:esp.example'])).toEqual([]);
  expect(await codes(['ip4:192.0.2.7'])).toEqual([]);
  expect(await codes(['ip4:192.0.2.8'])).toEqual(['TERM_MISSING']);
});

test('a record that includes itself in many ways asks no more than is counted', async () => {
  const asked: string[] = [];
  const web = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`i${n}.example`, `v=spf1 ${includes(20)} -all`]),
  );
  await checkSpf(zoneQuery(zoneOf(own(`v=spf1 ${includes(20)} -all`, web)), asked), 'example.com', []);
  expect(asked.length).toBeLessThanOrEqual(32);
});

describe('asking a real name server', () => {
  let server: DnsServer;
  beforeAll(async () => {
    server = await startDnsServer(
      zoneOf({
        'TXT long.example': ['x'.repeat(600)],
        'CNAME www.long.example': ['Host.Example'],
        'MX long.example': ['mx.example'],
        'TXT broken.example': 'fail',
        'A deep.below.example': ['192.0.2.1'],
      }),
    );
  });
  afterAll(() => server.close());

  test('texts are joined, hosts are plain, and what is missing is told from what failed', async () => {
    const queryDns = createDnsQuery([server.address]);
    expect(await queryDns('TXT', 'long.example')).toEqual({ status: 'found', values: ['x'.repeat(600)] });
    expect(await queryDns('CNAME', 'www.long.example')).toEqual({ status: 'found', values: ['host.example'] });
    expect(await queryDns('MX', 'long.example')).toEqual({ status: 'found', values: ['mx.example'] });
    expect(await queryDns('A', 'long.example')).toEqual({ status: 'none', exists: true });
    expect(await queryDns('A', 'below.example')).toEqual({ status: 'none', exists: true });
    expect(await queryDns('TXT', 'nobody.example')).toEqual({ status: 'none', exists: false });
    expect(await queryDns('TXT', 'broken.example')).toMatchObject({ status: 'failed' });
    expect(await queryDns('TXT', `${'a.'.repeat(130)}example`)).toEqual({ status: 'none', exists: false });
    expect(await createDnsQuery(['127.0.0.1:1'])('TXT', 'long.example')).toMatchObject({ status: 'failed' });
  });
});

test('name servers that answer each question just in time do not add up', async () => {
  const asked: string[] = [];
  const zone = zoneQuery(zoneOf(chain(40)), asked);
  const slow = limitedDnsQuery(100, async (type, name) => {
    await new Promise((resume) => setTimeout(resume, 30));
    return zone(type, name);
  });
  const { problems } = await checkSpf(slow, 'example.com', []);
  expect(asked.length).toBeLessThan(6);
  expect(problems.map(({ code }) => code)).toContain('LOOKUP_FAILED');
});

test('no record is shown by an installation that does not know its servers: it would forbid all mail', () => {
  const domain = { name: 'shop.example', token: 'a', returnPathHost: 'b.shop.example', trackingHost: 'l.shop.example' };
  const site = { host: null, bounceDomain: null, queryDns: zoneQuery(new Map()) };
  const shown = (spfTerms: string[]) =>
    domainRecords(domain, [], { ...site, spfTerms }).flatMap(({ kind, value }) => (kind === 'spf' ? [value] : []));
  expect(shown([])).toEqual([]);
  expect(shown(['ip4:192.0.2.7'])).toEqual(['v=spf1 ip4:192.0.2.7 ~all']);
});
