/** The bundled verifier against a real name server of this machine: what it says of an address, and what it asks. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { connectAddressCheck, parseAddress } from '../../plugins/mailwright/address-check/address-verifier.ts';
import { validateSettings } from '../../plugins/mailwright/address-check/settings.ts';
import type { EmailVerifier, SettingsInput } from '../../src/plugin-api/index.ts';
import { startDnsServer } from '../support/dns-zone.ts';

const dns = await startDnsServer();
const { signal } = new AbortController();
afterAll(() => dns.close());

function verifierOf(given: SettingsInput = {}, dnsServers: readonly string[] = [dns.address]) {
  const checked = validateSettings({ dns_timeout_seconds: 5, ...given });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  return connectAddressCheck(checked.settings, { dnsServers });
}

async function verdict(address: string, given: SettingsInput = {}) {
  const [answer] = await verifierOf(given).verify([address], { signal });
  return answer;
}

beforeEach(() => {
  dns.behave('zone');
  dns.zone.clear();
  dns.queried.length = 0;
  dns.zone.set('MX good.example', ['mx.good.example']);
  dns.zone.set('A mx.good.example', ['192.0.2.1']);
});

describe('the domain', () => {
  test('takes mail by its MX records, when one of the mail servers has an address', async () => {
    expect(await verdict('ada@good.example')).toEqual({ result: 'deliverable', reasons: [] });
    expect(await verdict('ada@GOOD.Example')).toEqual({ result: 'deliverable', reasons: [] });
    dns.zone.set('MX six.example', ['gone.six.example', 'mx.six.example']);
    dns.zone.set('AAAA mx.six.example', ['2001:db8::1']);
    expect(await verdict('ada@six.example')).toEqual({ result: 'deliverable', reasons: [] });
  });

  test('without MX takes mail at its own address (RFC 5321 5.1)', async () => {
    dns.zone.set('A plain.example', ['192.0.2.2']);
    expect(await verdict('ada@plain.example')).toEqual({ result: 'deliverable', reasons: ['no_mx'] });
    dns.zone.set('AAAA plain6.example', ['2001:db8::2']);
    expect(await verdict('ada@plain6.example')).toEqual({ result: 'deliverable', reasons: ['no_mx'] });
  });

  test('takes none with a null MX (RFC 7505), without any address, and with mail servers that have none', async () => {
    dns.zone.set('MX null.example', ['.']);
    dns.zone.set('A null.example', ['192.0.2.3']);
    expect(await verdict('ada@null.example')).toEqual({ result: 'undeliverable', reasons: ['no_mail_server'] });
    dns.zone.set('TXT bare.example', ['v=spf1 -all']);
    expect(await verdict('ada@bare.example')).toEqual({ result: 'undeliverable', reasons: ['no_mail_server'] });
    dns.zone.set('MX dead.example', ['mx.dead.example']);
    expect(await verdict('ada@dead.example')).toEqual({ result: 'undeliverable', reasons: ['no_mail_server'] });
  });

  test('is missing', async () => {
    expect(await verdict('ada@nowhere.example')).toEqual({ result: 'undeliverable', reasons: ['no_domain'] });
  });

  test('is unknown when a look-up failed, never undeliverable', async () => {
    dns.zone.set('MX broken.example', 'fail');
    expect(await verdict('ada@broken.example')).toEqual({ result: 'unknown', reasons: ['dns_failed'] });
    dns.zone.set('MX half.example', ['a.half.example', 'b.half.example']);
    dns.zone.set('A a.half.example', 'fail');
    expect(await verdict('ada@half.example')).toEqual({ result: 'unknown', reasons: ['dns_failed'] });
    dns.zone.set('TXT noaddress.example', ['x']);
    dns.zone.set('A noaddress.example', 'fail');
    dns.zone.set('AAAA noaddress.example', 'fail');
    expect(await verdict('ada@noaddress.example')).toEqual({ result: 'unknown', reasons: ['dns_failed'] });
  });

  test('is looked up once in a batch, whatever the number of its people', async () => {
    const people = Array.from({ length: 200 }, (_, no) => `p${no}@good.example`);
    const answers = await verifierOf().verify(people, { signal });
    expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(['deliverable']));
    expect(dns.queried).toEqual(['MX good.example', 'A mx.good.example']);
  });

  test('is remembered from call to call, unless the look-up failed', async () => {
    dns.zone.set('MX broken.example', 'fail');
    const verifier = verifierOf();
    const people = ['ada@good.example', 'ada@broken.example'];
    await verifier.verify(people, { signal });
    dns.queried.length = 0;
    dns.zone.set('MX broken.example', ['mx.good.example']);
    const answers = await verifier.verify(people, { signal });
    expect(answers.map(({ result }) => result)).toEqual(['deliverable', 'deliverable']);
    expect(new Set(dns.queried)).toEqual(new Set(['MX broken.example']));
  });

  test('of others is never missing for a name server that knows only its own: nothing is judged', async () => {
    dns.behave('alone');
    const people = ['ada@good.example', 'bob@elsewhere.example'];
    await expect(verifierOf().verify(people, { signal })).rejects.toThrow('not even "com"');
    expect(await verdict('ada@good.example')).toEqual({ result: 'deliverable', reasons: [] });
    dns.behave('zone');
    expect(await verdict('bob@elsewhere.example')).toEqual({ result: 'undeliverable', reasons: ['no_domain'] });
  });

  test('of another alphabet is asked in ASCII', async () => {
    dns.zone.set('MX xn--e1afmkfd.xn--p1ai', ['mx.good.example']);
    expect(await verdict('boris@пример.рф')).toEqual({ result: 'deliverable', reasons: [] });
  });
});

describe('the address', () => {
  test.each([
    'ada',
    '@good.example',
    'a b@good.example',
    'a..b@good.example',
    '.a@good.example',
    'a@good',
    'a@-x.example',
    'a@[192.0.2.1]',
    `${'a'.repeat(65)}@good.example`,
    `a@${'b.'.repeat(126)}example`,
    'a@good.example.',
    'a@exa mple.com',
    '"a@good.example',
  ])('of a wrong form is undeliverable, and nobody is asked: %s', async (address) => {
    expect(await verdict(address)).toEqual({ result: 'undeliverable', reasons: ['syntax'] });
    expect(dns.queried).toEqual([]);
  });

  test.each([
    "o'brien+news@good.example",
    '"a b"@good.example',
    'jürgen@good.example',
    'a_b-c@sub.good.example',
    'a@b@good.example',
  ])('has a form that is judged right: %s', (address) =>
    expect(parseAddress(address) !== undefined).toBe(address !== 'a@b@good.example'),
  );

  test('of a role is risky, unless that is switched off', async () => {
    for (const name of ['info', 'Postmaster', 'sales+spring', 'no-reply'])
      expect(await verdict(`${name}@good.example`)).toEqual({ result: 'risky', reasons: ['role'] });
    expect(await verdict('information@good.example')).toEqual({ result: 'deliverable', reasons: [] });
    expect(await verdict('info@good.example', { check_roles: 'no' })).toEqual({ result: 'deliverable', reasons: [] });
  });

  test('of a disposable domain is risky, also below it; settings add domains and take them away', async () => {
    for (const domain of ['mailinator.com', 'eu.mailinator.com', 'mine.example'])
      dns.zone.set(`MX ${domain}`, ['mx.good.example']);
    expect(await verdict('a@mailinator.com')).toEqual({ result: 'risky', reasons: ['disposable'] });
    expect(await verdict('info@eu.mailinator.com')).toEqual({ result: 'risky', reasons: ['disposable', 'role'] });
    expect(await verdict('a@mine.example')).toMatchObject({ result: 'deliverable' });
    expect(await verdict('a@mine.example', { disposable_domains: 'Mine.example, other.example' })).toMatchObject({
      result: 'risky',
    });
    expect(await verdict('a@eu.mailinator.com', { allowed_domains: 'mailinator.com' })).toMatchObject({
      result: 'deliverable',
    });
    expect(await verdict('a@mailinator.com', { check_disposable: false })).toMatchObject({ result: 'deliverable' });
  });
});

describe('the name server', () => {
  test('that answers passes the test, and one that does not fails it with a sentence', async () => {
    dns.zone.set('NS com', ['a.gtld-servers.net']);
    expect(await verifierOf().test()).toEqual({ ok: true });
    dns.zone.set('NS com', 'fail');
    expect(await verifierOf().test()).toEqual({
      ok: false,
      message: expect.stringMatching(/name server.*DNS servers/),
    });
    // That of a closed network answers, and every domain of others is missing for it.
    dns.behave('alone');
    dns.zone.delete('NS com');
    expect(await verifierOf().test()).toEqual({
      ok: false,
      message: expect.stringMatching(/name servers of the internet cannot be reached.*DNS servers/),
    });
  });

  test('that is too slow for the whole call leaves the rest unknown, and nothing is looked up after that', async () => {
    // More than four at a time in the time of the call, of which a few are looked up also on a busy machine.
    const names = Array.from({ length: 120 }, (_, no) => `s${no}.good.example`);
    for (const name of names) dns.zone.set(`MX ${name}`, ['mx.good.example']);
    dns.behave('slow');
    const checked = validateSettings({ lookups_max: 4 });
    if (!checked.ok) throw new Error('The settings are wrong.');
    const verifier = connectAddressCheck(checked.settings, { dnsServers: [dns.address] }, 4_000);
    const answers = await verifier.verify(
      names.map((name) => `ada@${name}`),
      { signal },
    );
    const found = answers.filter(({ result }) => result === 'deliverable').length;
    expect(found).toBeGreaterThan(0);
    expect(answers.filter(({ result }) => result === 'unknown')).toHaveLength(120 - found);
    const { length } = dns.queried;
    dns.behave('zone');
    // The next call has a new time.
    expect(await verifier.verify(['ada@s119.good.example'], { signal })).toEqual([
      { result: 'deliverable', reasons: [] },
    ]);
    expect(dns.queried.slice(length).filter((one) => one.includes('s118.'))).toEqual([]);
  });

  test.each<[string, number, (verifier: EmailVerifier, ending: AbortController) => unknown]>([
    ['the time of the call ends', 3_000, () => undefined],
    ['the verifier is closed', 60_000, (verifier) => verifier.close()],
    ['nobody waits any more', 60_000, (_, ending) => ending.abort()],
    ['nobody ever waited', 60_000, () => undefined],
  ])('is asked for no further record when %s', { timeout: 120_000 }, async (how, answerMs, end) => {
    const second = await startDnsServer(dns.zone);
    dns.zone.set('MX deaf.example', ['a.deaf.example', 'b.deaf.example', 'c.deaf.example']);
    for (const server of [dns, second]) server.behave('only MX');
    const checked = validateSettings({ dns_timeout_seconds: 10 });
    if (!checked.ok) throw new Error('The settings are wrong.');
    const verifier = connectAddressCheck(checked.settings, { dnsServers: [dns.address, second.address] }, answerMs);
    const ending = new AbortController();
    if (how === 'nobody ever waited') ending.abort();
    const began = performance.now();
    const asked = verifier.verify(['ada@deaf.example'], { signal: ending.signal });
    const timer = setTimeout(() => end(verifier, ending), 3_000);
    expect(await asked).toEqual([{ result: 'unknown', reasons: ['dns_failed'] }]);
    clearTimeout(timer);
    // One question alone takes its time at each name server, and there are six.
    expect(performance.now() - began).toBeLessThan(9_900);
    expect(new Set([...dns.queried, ...second.queried])).toEqual(
      new Set(how === 'nobody ever waited' ? [] : ['MX deaf.example', 'A a.deaf.example']),
    );
    second.close();
  });

  test('that answers for no domain of a batch stops it: nobody is called unknown for it', async () => {
    const silent = createSocket('udp4');
    silent.bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const verifier = verifierOf({ dns_timeout_seconds: 1 }, [`127.0.0.1:${silent.address().port}`]);
    const asked = verifier.verify(['a@one.example', 'b@two.example', 'c@three.example'], { signal });
    await expect(asked).rejects.toThrow(/No look-up of 3 domains was answered/);
    // One domain alone may be at fault itself.
    expect(await verifier.verify(['a@one.example'], { signal })).toEqual([
      { result: 'unknown', reasons: ['dns_failed'] },
    ]);
    silent.close();
  });

  test('is asked no more when nobody waits for the answer', async () => {
    const silent = createSocket('udp4');
    silent.bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const ending = new AbortController();
    const verifier = verifierOf({ dns_timeout_seconds: 20 }, [`127.0.0.1:${silent.address().port}`]);
    const asked = verifier.verify(['a@one.example'], { signal: ending.signal });
    const [message] = await once(silent, 'message');
    expect(message).toBeInstanceOf(Buffer);
    ending.abort();
    expect(await asked).toEqual([{ result: 'unknown', reasons: ['dns_failed'] }]);
    silent.close();
  });
});

describe('settings', () => {
  test('have defaults, and faults by key', () => {
    expect(validateSettings({})).toEqual({
      ok: true,
      settings: {
        ...{ check_disposable: true, check_roles: true, disposable_domains: '', allowed_domains: '' },
        ...{ dns_timeout_seconds: 3, lookups_max: 50 },
      },
    });
    const wrong = validateSettings({
      ...{ check_roles: 'perhaps', disposable_domains: 'no domain', allowed_domains: 7 },
      ...{ dns_timeout_seconds: 0, lookups_max: 'many' },
    });
    expect(wrong.ok ? [] : Object.keys(wrong.errors).toSorted()).toEqual([
      ...['allowed_domains', 'check_roles', 'disposable_domains', 'dns_timeout_seconds', 'lookups_max'],
    ]);
  });
});
