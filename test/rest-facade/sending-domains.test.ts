/** Sending domains over REST and GraphQL, with a DNS server of this machine: proof, signature, rotation, hosts, loss. */
import { once } from 'node:events';
import http from 'node:http';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { freePort } from '../support/free-port.ts';
import { sql } from '../../src/db/database.ts';
import { recheckDomains } from '../../src/domain/sending/domains/recheck-domains.ts';
import { trackingProbe } from '../../src/domain/sending/domains/tracking-probe.ts';
import { identityFor } from '../../src/domain/sending/identity.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startDnsServer } from '../support/dns-zone.ts';
import { changeOptions, givePlan } from '../support/plans.ts';
import { startRestApp, type RestAnswer, type RestTenant } from '../support/rest-app.ts';

const dns = await startDnsServer();
const port = await freePort();
const app = await startRestApp(
  {
    PORT: String(port),
    BASE_URL: `http://mail.test:${port}`,
    DNS_SERVERS: dns.address,
    BOUNCE_DOMAIN: 'bounces.mail.test',
    SPF_TERMS: 'include:spf.mail.test',
  },
  { fromAddresses: 'verified' },
);
afterAll(() => dns.close());

const { db, installation } = app.ctx;
let tenant: RestTenant;
let name = '';
beforeEach(async () => {
  tenant = await app.newTenant();
  name = `${newUid()}.example`;
  dns.zone.set('A mail.test', ['127.0.0.1']);
  dns.zone.set('TXT spf.mail.test', ['v=spf1 ip4:192.0.2.7 -all']);
});

interface Shown {
  readonly uid: string;
  readonly status: string;
  readonly tracking_url: string | null;
  readonly return_path_ready: boolean;
  readonly records: readonly {
    readonly kind: string;
    readonly type: string;
    readonly name: string;
    readonly value: string;
    readonly pieces: readonly string[];
    readonly status: string;
    readonly problems: readonly string[];
  }[];
}

const call = (method: string, path: string, body: object = {}, by = tenant.token) =>
  app.rest(path, { method, body, token: by });
const shown = (answer: RestAnswer) => Reflect.get(Object(answer.body), 'sending_domain') as Shown;
const create = async (more: object = {}, by = tenant.token) =>
  shown(await call('POST', '/sending_domains', { name, ...more }, by));
const read = async (uid: string) => shown(await app.rest(`/sending_domains/${uid}`, { token: tenant.token }));
const statuses = ({ records }: Shown) => records.map(({ kind, status }) => `${kind} ${status}`);

/** Asks the DNS now, however short ago it was asked. */
async function verify(uid: string, by = tenant.token): Promise<Shown> {
  await db.execute(sql`UPDATE sending_domain SET check_requested_at = NULL WHERE uid = ${uid}`);
  const answer = await call('POST', `/sending_domains/${uid}/verify`, {}, by);
  expect(answer.status, answer.text).toBe(200);
  return shown(answer);
}

/** Publishes the records as they are shown; a CNAME leads where its target leads. */
function publish({ records }: Shown, only?: (record: Shown['records'][number]) => boolean): void {
  for (const record of records.filter((one) => only?.(one) ?? true)) {
    dns.zone.set(`${record.type} ${record.name}`, [record.value]);
    if (record.kind === 'tracking') dns.zone.set(`A ${record.name}`, ['127.0.0.1']);
  }
}

const identity = (fromEmail = `notification@${name}`, customerId = tenant.customerId) =>
  identityFor(db, { customerId, fromEmail, signDkim: true, secret: installation.secret });

async function signatures(fromEmail?: string): Promise<string[]> {
  const { sign } = await identity(fromEmail);
  if (!sign) return [];
  const content = Buffer.from(
    `From: <${fromEmail ?? `notification@${name}`}>\r\nTo: <a@b.example>\r\nSubject: Hi\r\n\r\nHello\r\n`,
  );
  const resolver = async (host: string) => {
    const values = dns.zone.get(`TXT ${host}`);
    if (!values || values === 'fail') throw Object.assign(new Error('nothing'), { code: 'ENOTFOUND' });
    return values.map((value) => [value]);
  };
  const { results } = await dkimVerify(await sign(content), { resolver });
  return results.map(({ signingDomain, algo, status }) => `${signingDomain} ${algo} ${status.result}`);
}

describe('proving a domain', () => {
  test('records to publish, what was seen of them, and what follows', async () => {
    const made = await create({ uses_ed25519: '1' });
    expect(made).toMatchObject({ status: 'pending', tracking_url: null, return_path_ready: false });
    expect(made.records.map(({ kind, type }) => `${kind} ${type}`)).toEqual([
      ...['ownership TXT', 'dkim TXT', 'dkim TXT', 'spf TXT', 'dmarc TXT', 'return_path CNAME', 'tracking CNAME'],
    ]);
    const rsa = made.records.find(({ value }) => value.includes('k=rsa'));
    expect(rsa?.value.length).toBeGreaterThan(255);
    expect(rsa?.pieces.map(({ length }) => length).every((length) => length <= 255)).toBe(true);
    expect(rsa?.pieces.join('')).toBe(rsa?.value);
    expect(statuses(await verify(made.uid))).toEqual([
      ...['ownership missing', 'dkim missing', 'dkim missing', 'spf missing', 'dmarc missing', 'return_path missing'],
      'tracking missing',
    ]);
    expect(await signatures()).toEqual([]);
    publish(made);
    const whole = await verify(made.uid);
    expect(statuses(whole).filter((status) => !status.endsWith(' verified'))).toEqual([]);
    expect(whole).toMatchObject({
      status: 'verified',
      return_path_ready: true,
      tracking_url: `http://links.${name}:${port}`,
      dmarc_policy: 'none',
      organizational_domain: name,
    });
    expect(await identity()).toMatchObject({
      signingDomain: name,
      returnPathDomain: `bounces.${name}`,
      trackingBaseUrl: `http://links.${name}:${port}`,
    });
    expect(await signatures()).toEqual([`${name} rsa-sha256 pass`, `${name} ed25519-sha256 pass`]);
    // A subdomain belongs to it; a name that only ends alike does not.
    expect(await signatures(`a@notification.${name}`)).toHaveLength(2);
    expect(await signatures(`a@evil-${name}`)).toEqual([]);
  });

  test('what stands there and is wrong is told; the private key is nowhere', async () => {
    const made = await create();
    const key = made.records.find(({ kind }) => kind === 'dkim');
    dns.zone.set(`TXT _mailwright.${name}`, ['mailwright-verification=of-somebody-else']);
    dns.zone.set(`TXT ${key?.name}`, [`${key?.value.slice(0, 100)}`]);
    dns.zone.set(`TXT ${name}`, ['v=spf1 a -all', 'v=spf1 mx -all']);
    dns.zone.set(`CNAME links.${name}`, ['elsewhere.example']);
    dns.zone.set(`A links.${name}`, ['127.0.0.1']);
    dns.zone.set(`CNAME bounces.${name}`, ['elsewhere.example']);
    dns.zone.set(`TXT _dmarc.${name}`, 'fail');
    const seen = await verify(made.uid);
    expect(statuses(seen)).toEqual([
      ...['ownership wrong', 'dkim wrong', 'spf wrong', 'dmarc unknown', 'return_path wrong', 'tracking verified'],
    ]);
    // It does lead here, but of a domain that is not proved no host is used.
    expect(seen).toMatchObject({ status: 'pending', tracking_url: null, return_path_ready: false });
    for (const { status, problems } of seen.records) if (status !== 'verified') expect(problems).not.toEqual([]);
    const [dump] = await queryRows<{ text: string }>(db, sql`SELECT string_agg(k::text, '') AS text FROM dkim_key k`);
    expect(dump?.text).not.toContain(Buffer.from('PRIVATE').toString('hex'));
    expect(JSON.stringify(seen)).not.toMatch(/private/i);
  });

  test('a name entered whole where the form adds the domain, and quotation marks, are told', async () => {
    const made = await create();
    for (const { type, name: whole, value } of made.records) dns.zone.set(`${type} ${whole}.${name}`, [value]);
    const { status, records } = await verify(made.uid);
    expect(status).toBe('pending');
    for (const { kind, name: whole, status: found, problems } of records.filter((one) => !/spf|dmarc/.test(one.kind))) {
      const label = whole.slice(0, -name.length - 1);
      const hint = `It is at ${whole}.${name}: enter the name as ${label}, the form adds ${name} automatically.`;
      expect([kind, found, problems]).toEqual([kind, 'missing', [hint]]);
    }
    for (const { type, name: whole, value } of made.records) dns.zone.set(`${type} ${whole}`, [`"${value}"`]);
    const quoted = (await verify(made.uid)).records.filter(({ kind }) => kind === 'ownership' || kind === 'dkim');
    for (const { problems } of quoted)
      expect(problems).toEqual([expect.stringMatching(/^It contains quotation marks/)]);
  });

  test('asking again and again is refused', async () => {
    const { uid } = await create();
    expect((await call('POST', `/sending_domains/${uid}/verify`)).status).toBe(200);
    const again = await call('POST', `/sending_domains/${uid}/verify`);
    expect([again.status, Number(again.headers.get('retry-after'))]).toEqual([429, 10]);
  });

  test.each([
    ['no domain', 'localhost'],
    ['an address', '192.0.2.1'],
    ['a path', 'example.com/x'],
    ['spaces', 'exa mple.com'],
    ['a line break', 'example.com\r\nx: y'],
    ['an underscore', '_dmarc.example.com'],
    ['too long', `${'a'.repeat(60)}.`.repeat(4) + 'example'],
  ])('%s is no name', async (_what, wrong) => {
    const answer = await call('POST', '/sending_domains', { name: wrong });
    expect([answer.status, Object.keys(Object(Reflect.get(Object(answer.body), 'errors')))]).toEqual([422, ['name']]);
  });

  test('names are kept in ASCII, once a customer', async () => {
    const made = shown(await call('POST', '/sending_domains', { name: `Grüße-${name.toUpperCase()}.` }));
    expect(made.records[0]?.name).toBe(
      `_mailwright.xn--gre-${name.replace('.example', '')}-${made.records[0]?.name.split('-').at(-1)}`,
    );
    expect((await call('POST', '/sending_domains', { name: `grüße-${name}` })).status).toBe(422);
  });

  test('links and bounces never lead to one host, for a name has one CNAME', async () => {
    const fault = {
      tracking_subdomain: ['The tracking subdomain must differ from the return path subdomain.'],
    };
    for (const labels of [{ tracking_subdomain: 'Bounces' }, { return_path_subdomain: 'links' }]) {
      const refused = await call('POST', '/sending_domains', { name, ...labels });
      expect(refused).toMatchObject({ status: 422, body: { errors: fault } });
    }
    const { uid } = await create({ tracking_subdomain: 'bounces', return_path_subdomain: 'links' });
    for (const labels of [
      { tracking_subdomain: 'links' },
      { return_path_subdomain: 'bounces' },
      { tracking_subdomain: 'a', return_path_subdomain: 'a' },
    ]) {
      const refused = await call('PATCH', `/sending_domains/${uid}`, { ...labels, uses_ed25519: '1' });
      expect(refused).toMatchObject({ status: 422, body: { errors: fault } });
    }
    expect(await read(uid)).toMatchObject({ uses_ed25519: false, tracking_host: `bounces.${name}` });
    const swapped = { tracking_subdomain: 'links', return_path_subdomain: 'bounces' };
    expect((await call('PATCH', `/sending_domains/${uid}`, swapped)).status).toBe(200);
  });
});

describe('what a plan allows', () => {
  test('none, or so many, however many ask at once', async () => {
    await givePlan(db, tenant.customerId, { create_sending_domains: 'no' });
    expect((await call('POST', '/sending_domains', { name })).status).toBe(403);
    await changeOptions(db, tenant.customerId, { create_sending_domains: 'yes', sending_domains_max: '3' });
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) => call('POST', '/sending_domains', { name: `d${n}.${name}` })),
    );
    const answers = all.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(answers).toEqual([201, 201, 201, 422, 422, 422, 422, 422]);
    expect(all.find(({ status }) => status === 422)?.text).toMatch(/at most 3 sending domains/);
  });

  test('only an administrator makes the default domain, and there is one', async () => {
    expect((await call('POST', '/sending_domains', { name, is_default: 1 })).status).toBe(403);
    const admin = (n: number) => create({ name: `d${n}.${name}`, is_default: 1 }, app.adminToken);
    const made = await Promise.all([admin(1), admin(2), admin(3)]);
    expect(made.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending']);
    expect(await queryRows(db, sql`SELECT 1 FROM sending_domain WHERE is_default`)).toHaveLength(1);
  });
});

describe('what a tracking host has to be', () => {
  const probe = trackingProbe({ ...installation, baseUrl: `https://mail.test:${port}` });
  const lead = (host: string, address: string) => dns.zone.set(`A ${host}`, [address]);

  test('nowhere but here: no private address, no other program, and https where the installation has it', async () => {
    const plain = trackingProbe(installation);
    lead(`a.${name}`, '127.0.0.1');
    expect(await plain(`a.${name}`)).toEqual({ url: `http://a.${name}:${port}` });
    expect(await probe(`a.${name}`)).toMatchObject({ refusal: expect.stringMatching(/certificate/) });
    for (const address of ['10.0.0.1', '169.254.169.254', '127.0.0.2']) {
      lead(`b.${name}`, address);
      expect(await plain(`b.${name}`)).toMatchObject({ refusal: expect.stringMatching(/not a public address/) });
    }
    const other = http.createServer((_req, res) => res.end('f'.repeat(64))).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const otherPort = typeof address === 'object' ? address?.port : 0;
    const elsewhere = trackingProbe({ ...installation, baseUrl: `http://mail.test:${otherPort}` });
    expect(await elsewhere(`a.${name}`)).toMatchObject({ refusal: expect.stringMatching(/does not lead to this/) });
    other.close();
  });
});

describe('keys', () => {
  test('a new key takes over when it can be seen, and not before; the old one is thrown away', async () => {
    const made = await create();
    publish(made);
    await verify(made.uid);
    const rotated = shown(await call('POST', `/sending_domains/${made.uid}/rotate`));
    expect(rotated.records.filter(({ kind }) => kind === 'dkim')).toHaveLength(2);
    expect((await call('POST', `/sending_domains/${made.uid}/rotate`)).status).toBe(422);
    await verify(made.uid);
    const [old, fresh] = rotated.records.filter(({ kind }) => kind === 'dkim');
    const selectors = async () => {
      const { sign } = await identity();
      return /; s=(\w+);/.exec(String(await sign?.(Buffer.from('From: <a@b.example>\r\n\r\n'))))?.[1];
    };
    expect(old?.name.startsWith(`${await selectors()}.`)).toBe(true);
    publish(rotated);
    await verify(made.uid);
    expect(fresh?.name.startsWith(`${await selectors()}.`)).toBe(true);
    const keys = await queryRows<{ status: string; sealed: boolean }>(
      db,
      sql`SELECT status, sealed_private_key IS NOT NULL AS sealed FROM dkim_key WHERE customer_id = ${tenant.customerId} ORDER BY id`,
    );
    expect(keys).toEqual([
      { status: 'retired', sealed: false },
      { status: 'active', sealed: true },
    ]);
    await db.execute(sql`UPDATE dkim_key SET retired_at = now() - interval '8 days' WHERE status = 'retired'`);
    await verify(made.uid);
    expect(await queryRows(db, sql`SELECT 1 FROM dkim_key WHERE customer_id = ${tenant.customerId}`)).toHaveLength(1);
  });

  test('Ed25519 comes and goes beside RSA', async () => {
    const made = await create();
    publish(made);
    await verify(made.uid);
    publish(shown(await call('PATCH', `/sending_domains/${made.uid}`, { uses_ed25519: 'yes' })));
    expect(await signatures()).toHaveLength(1);
    await verify(made.uid);
    expect(await signatures()).toHaveLength(2);
    await call('PATCH', `/sending_domains/${made.uid}`, { uses_ed25519: 'no' });
    expect(await signatures()).toEqual([`${name} rsa-sha256 pass`]);
  });
});

describe('losing a domain', () => {
  const recheck = async (uid: string) => {
    await db.execute(sql`UPDATE sending_domain SET next_check_at = now() - interval '1 second' WHERE uid = ${uid}`);
    await recheckDomains(app.ctx, { isStopping: () => false });
    return read(uid);
  };
  const mails = async (customerId: bigint) =>
    (
      await queryRows<{ notification: string }>(
        db,
        sql`SELECT payload ->> 'notification' AS notification FROM graphile_worker._private_jobs WHERE payload ->> 'customerId' = ${String(customerId)} ORDER BY id`,
      )
    ).map(({ notification }) => notification);

  test('a failed look-up changes nothing; a lost record costs the signature after three days, and comes back', async () => {
    const made = await create();
    publish(made);
    await verify(made.uid);
    const token = dns.zone.get(`TXT _mailwright.${name}`) ?? [];
    dns.zone.set(`TXT _mailwright.${name}`, 'fail');
    expect((await recheck(made.uid)).status).toBe('verified');
    dns.zone.delete(`TXT _mailwright.${name}`);
    expect((await recheck(made.uid)).status).toBe('failing');
    expect(await signatures()).toHaveLength(1);
    await db.execute(
      sql`UPDATE sending_domain SET failing_since = now() - interval '71 hours' WHERE uid = ${made.uid}`,
    );
    expect((await recheck(made.uid)).status).toBe('failing');
    await db.execute(
      sql`UPDATE sending_domain SET failing_since = now() - interval '73 hours' WHERE uid = ${made.uid}`,
    );
    expect(await recheck(made.uid)).toMatchObject({ status: 'lost', tracking_url: null, return_path_ready: false });
    expect(await signatures()).toEqual([]);
    expect(await mails(tenant.customerId)).toEqual(['failing', 'lost']);
    dns.zone.set(`TXT _mailwright.${name}`, token);
    expect((await recheck(made.uid)).status).toBe('verified');
  });

  test('of two customers who claim a domain, the one who can prove it has it', async () => {
    const first = await create();
    publish(first);
    expect((await verify(first.uid)).status).toBe('verified');
    const rival = await app.newTenant();
    const second = await create({}, rival.token);
    // Both proofs stand there: who was first keeps it.
    const proof = (domain: Shown) => domain.records[0]?.value ?? '';
    publish(second, ({ kind }) => kind === 'dkim');
    dns.zone.set(`TXT _mailwright.${name}`, [proof(first), proof(second)]);
    const refused = await verify(second.uid, rival.token);
    expect([refused.status, refused.records[0]?.status]).toEqual(['pending', 'wrong']);
    expect(refused.records[0]?.problems[0]).toMatch(/Another customer/);
    expect(await identity(`a@${name}`, rival.customerId)).toMatchObject({ sign: null, signingDomain: null });
    // The zone changes hands: at once, without grace.
    dns.zone.set(`TXT _mailwright.${name}`, [proof(second)]);
    expect((await verify(second.uid, rival.token)).status).toBe('verified');
    expect((await read(first.uid)).status).toBe('lost');
    expect(await mails(tenant.customerId)).toEqual(['taken']);
    expect(await signatures()).toEqual([]);
  });

  test('ten looks at once at two claims end with one holder', async () => {
    const first = await create();
    const rival = await app.newTenant();
    const second = await create({}, rival.token);
    for (const made of [first, second]) publish(made, ({ kind }) => kind === 'dkim');
    dns.zone.set(
      `TXT _mailwright.${name}`,
      [first, second].map(({ records }) => records[0]?.value ?? ''),
    );
    await db.execute(sql`UPDATE sending_domain SET next_check_at = now() - interval '1 second' WHERE name = ${name}`);
    await Promise.all(Array.from({ length: 10 }, () => recheckDomains(app.ctx, { isStopping: () => false })));
    const rows = await queryRows<{ status: string }>(
      db,
      sql`SELECT status FROM sending_domain WHERE name = ${name} ORDER BY status`,
    );
    expect(rows.map(({ status }) => status)).toEqual(['pending', 'verified']);
  });
});
