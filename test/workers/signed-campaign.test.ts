/** A campaign from a verified domain, end to end: signed, with the sender's own hosts, and served under them alone. */
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import PostalMime from 'postal-mime';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { freePort } from '../support/free-port.ts';
import { sql } from '../../src/db/database.ts';
import { startDnsServer } from '../support/dns-zone.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { frameAddress } from '../support/web-view.ts';

const dns = await startDnsServer();
const port = await freePort();
const app = await startRestApp(
  {
    ...{ ROLES: 'web,worker', INBOX: 'on', INBOX_SMTP_PORT: '0' },
    ...{ PORT: String(port), BASE_URL: `http://mail.test:${port}`, DNS_SERVERS: dns.address },
  },
  { fromAddresses: 'verified' },
);
afterAll(() => dns.close());
dns.zone.set('A mail.test', ['127.0.0.1']);

const DEADLINE_MS = 120_000;
const tenant = await app.newTenant();
const call = (method: string, path: string, body: object = {}, token = tenant.token) =>
  app.rest(path, { method, body, token });
const field = (answer: RestAnswer, name: string): unknown => Reflect.get(Object(answer.body), name);

interface Shown {
  readonly uid: string;
  readonly status: string;
  readonly records: readonly { readonly type: string; readonly name: string; readonly value: string }[];
}

async function newDomain(name: string, more: object = {}, token = tenant.token): Promise<Shown> {
  const domain = field(await call('POST', '/sending_domains', { name, ...more }, token), 'sending_domain') as Shown;
  for (const record of domain.records) dns.zone.set(`${record.type} ${record.name}`, [record.value]);
  dns.zone.set(`A links.${name}`, ['127.0.0.1']);
  return field(await call('POST', `/sending_domains/${domain.uid}/verify`, {}, token), 'sending_domain') as Shown;
}

async function newCampaign(from_email: string, options: object = {}): Promise<string> {
  const contact = {
    ...{ company: 'Acme', address_1: '1', city: 'Bath', state: 'BA', zip: '1', phone: '1', country_id: 1 },
    email: 'owner@owner.example',
  };
  const list = await call('POST', '/lists', { name: 'L', from_email, from_name: 'N', default_subject: 'S', contact });
  const list_uid = String(field(list, 'list_uid'));
  await app.ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT customer_id, id, ${`to-${list_uid}@person.example`}, ${`to-${list_uid}@person.example`}, 'subscribed', '{}' FROM mail_list WHERE uid = ${list_uid}`);
  const html = '<p>Grüße <a href="https://shop.example/">look</a></p>';
  const made = await call('POST', '/campaigns', {
    ...{ name: 'C', type: 'regular', subject: 'Hello', from_email, from_name: 'N', reply_to: from_email },
    ...{ html, list_uid, track_click: 1, track_open: 1, sign_dkim: 1, ...options },
  });
  expect(made.status, made.text).toBe(201);
  return `${String(field(made, 'campaign_uid'))} to-${list_uid}@person.example`;
}

async function mailTo(address: string): Promise<Buffer> {
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    const [mail] = await queryRows<{ raw: Buffer }>(
      app.ctx.db,
      sql`SELECT raw FROM inbox.message WHERE ${address} = ANY (rcpt_to)`,
    );
    if (mail) return mail.raw;
    await sleep(50);
  }
  throw new Error(`Nothing came to ${address}.`);
}

async function signers(raw: Buffer): Promise<string[]> {
  const resolver = async (name: string) => {
    const values = dns.zone.get(`TXT ${name}`);
    if (!values || values === 'fail') throw Object.assign(new Error('nothing'), { code: 'ENOTFOUND' });
    return values.map((value) => [value]);
  };
  const { results } = await dkimVerify(raw, { resolver });
  return results.map(({ signingDomain, status }) => `${signingDomain} ${status.result}`);
}

/** Asks this server under another host's name. */
function ask(host: string, path: string, method = 'GET'): Promise<{ status: number; body: string; location?: string }> {
  return new Promise((resolve, reject) => {
    const req = http.request({ host: '127.0.0.1', port, path, method, headers: { Host: host } }, async (res) => {
      let body = '';
      for await (const chunk of res) body += String(chunk);
      resolve({
        status: res.statusCode ?? 0,
        body,
        ...(res.headers.location ? { location: res.headers.location } : {}),
      });
    });
    req.on('error', reject);
    req.end();
  });
}

/** The status of an answer to a wish for a websocket; undefined when the connection is closed. */
function openSocket(host: string): Promise<number | undefined> {
  const headers = { Host: host, Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
  return new Promise((resolve) => {
    const req = http.request({
      ...{ host: '127.0.0.1', port, path: '/graphql' },
      headers: {
        ...headers,
        'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
        'Sec-WebSocket-Protocol': 'graphql-transport-ws',
      },
    });
    req.on('upgrade', (res, socket) => {
      socket.destroy();
      resolve(res.statusCode);
    });
    req.on('response', (res) => resolve(res.statusCode));
    req.on('error', () => resolve(undefined));
    req.end();
  });
}

const run = (uid: string) => call('POST', `/campaigns/${uid}/run`);

test('signed by the sender, its links under its host, and nothing else served there', async () => {
  expect((await newDomain('shop.example', { uses_ed25519: 1 })).status).toBe('verified');
  const [uid = '', to = ''] = (await newCampaign('news@shop.example')).split(' ');
  expect((await run(uid)).status).toBe(200);
  const raw = await mailTo(to);
  expect(await signers(raw)).toEqual(['shop.example pass', 'shop.example pass']);
  const mail = await PostalMime.parse(raw);
  const host = `http://links.shop.example:${port}`;
  const unsubscribe = mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '';
  expect(unsubscribe.startsWith(`<${host}/u/`)).toBe(true);
  const click = new RegExp(`${host}(/c/[\\w.-]+)`).exec(mail.html ?? '')?.[1] ?? '';
  expect(await ask(`links.shop.example:${port}`, click)).toMatchObject({
    status: 302,
    location: 'https://shop.example/',
  });
  expect(mail.html).not.toContain('mail.test');
  for (const path of ['/', '/api/v1/me', '/graphql', '/docs', '/login/token/abc', '/inbox', '/signup/abc']) {
    for (const host of ['links.shop.example', 'LINKS.shop.example', 'links.shop.example.'])
      expect([host, path, (await ask(`${host}:${port}`, path)).status]).toEqual([host, path, 404]);
  }
  for (const [host, status] of [
    ['links.shop.example.', undefined],
    ['mail.test', 101],
  ] as const)
    expect(await openSocket(`${host}:${port}`)).toBe(status);
  expect((await ask(`mail.test:${port}`, '/api/v1')).status).toBe(200);
  const page = await ask(`links.shop.example:${port}`, new URL(unsubscribe.slice(1, -1)).pathname);
  expect(page).toMatchObject({ status: 200 });
  expect(page.body).not.toContain('mail.test');
});

test('a host that was given up goes on serving links, and nothing else', async () => {
  const [renamed, deleted] = [await newDomain('renamed.example'), await newDomain('deleted.example')];
  const patched = await call('PATCH', `/sending_domains/${renamed.uid}`, { tracking_subdomain: 'go' });
  expect(patched.status).toBe(200);
  expect((await call('DELETE', `/sending_domains/${deleted.uid}`)).status).toBe(200);
  for (const host of ['links.renamed.example', 'links.deleted.example']) {
    expect([host, (await ask(`${host}:${port}`, '/api/v1')).status]).toEqual([host, 404]);
    expect((await ask(`${host}:${port}`, '/u/none')).body).toContain('This link does not work');
  }
  expect((await ask(`never.example:${port}`, '/api/v1')).status).toBe(200);
});

test('the web view, a preview and the mails of a list lead to its host, too', async () => {
  const from = 'news@pages.example';
  await newDomain('pages.example');
  const host = `http://links.pages.example:${port}`;
  const [uid = '', to = ''] = (
    await newCampaign(from, { html: '<a href="{WEB_VIEW_URL}">See</a> {UNSUBSCRIBE_URL}' })
  ).split(' ');
  await run(uid);
  const mail = await PostalMime.parse(await mailTo(to));
  const view = new RegExp(`${host}(/view/[\\w.-]+)`).exec(mail.html ?? '')?.[1] ?? '';
  const page = await ask(`links.pages.example:${port}`, view);
  expect(page.status).toBe(200);
  const frame = new URL(frameAddress(page.body, `${host}${view}`));
  const framed = await ask(frame.host, frame.pathname);
  const preview = await app.rest(`/campaigns/${uid}/preview`, { token: tenant.token });
  for (const html of [framed.body, Reflect.get(Object(field(preview, 'preview')), 'html')]) {
    expect(html).toContain(`${host}/u/`);
    expect(html).not.toContain('mail.test');
  }
  const list_uid = /to-(\w+)@/.exec(to)?.[1];
  await call('PATCH', `/lists/${list_uid}`, { subscribe_confirmation: 1 });
  await call('POST', '/subscribers', { list_uid, EMAIL: 'asked@pages.example' });
  const asked = await PostalMime.parse(await mailTo('asked@pages.example'));
  expect(asked.text).toContain(`${host}/confirm/`);
  expect(`${asked.text}${asked.html}`).not.toContain('mail.test');
  const confirm = new RegExp(`${host}(/confirm/[\\w.-]+)`).exec(asked.text ?? '')?.[1] ?? '';
  expect((await ask(`links.pages.example:${port}`, confirm, 'POST')).status).toBe(200);
  const { body } = await app.rest('/subscribers/email/asked@pages.example', { token: tenant.token });
  expect(body).toMatchObject({ subscribers: [{ status: 'subscribed' }] });
});

test('without the wish to be signed, or without a verified sender', async () => {
  await newDomain('quiet.example');
  const [uid = '', to = ''] = (await newCampaign('news@quiet.example', { sign_dkim: 0 })).split(' ');
  expect((await run(uid)).status).toBe(200);
  expect(await signers(await mailTo(to))).toEqual(['undefined none']);
  const [stranger = ''] = (await newCampaign('me@stranger.example')).split(' ');
  const refused = await run(stranger);
  expect([refused.status, Object.keys(Object(field(refused, 'errors')))]).toEqual([422, ['from_email']]);
});

const graphql = async (query: string, variables: object, token = tenant.token) => {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  const body: unknown = await response.json();
  return Object(Reflect.get(Object(body), 'data')) as Record<string, unknown>;
};
const VERIFY = `mutation ($email: String!) { verifyFromAddress(email: $email) { __typename ... on FromAddress { uid verifiedAt } } }`;
const CHECK = `query ($email: String!) { senderCheck(email: $email) { ... on SenderCheck { signingDomain isSignatureAligned isReturnPathAligned problems } } }`;

test('an address is verified by the link in a mail, by POST only; then the default domain signs', async () => {
  const house = await newDomain('house.example', { is_default: 1 }, app.adminToken);
  expect(house.status).toBe('verified');
  const email = 'me@gmail.example';
  expect(await graphql(VERIFY, { email })).toMatchObject({ verifyFromAddress: { verifiedAt: null } });
  expect(await graphql(VERIFY, { email })).toMatchObject({ verifyFromAddress: { __typename: 'RateLimitedError' } });
  const mail = await PostalMime.parse(await mailTo(email));
  expect(mail.from?.address).toBe('no-reply@mail.test');
  const link = new URL(/http:\S+\/verify-address\/[\w.-]+/.exec(mail.text ?? '')?.[0] ?? '').pathname;
  expect((await ask(`mail.test:${port}`, link)).body).toContain('Send mail from this address?');
  expect((await ask(`mail.test:${port}`, `${link}x`, 'POST')).status).toBe(404);
  const [uid = '', to = ''] = (await newCampaign(email)).split(' ');
  expect((await run(uid)).status).toBe(422);
  expect((await ask(`mail.test:${port}`, link, 'POST')).body).toContain('verified');
  expect((await run(uid)).status).toBe(200);
  expect(await signers(await mailTo(to))).toEqual(['house.example pass']);
  const { senderCheck } = await graphql(CHECK, { email });
  expect(senderCheck).toMatchObject({
    signingDomain: 'house.example',
    isSignatureAligned: false,
    isReturnPathAligned: true,
  });
  expect(await graphql(CHECK, { email: 'a@shop.example' })).toMatchObject({
    senderCheck: { signingDomain: 'shop.example', isSignatureAligned: true, problems: [] },
  });
});

test('nobody sends in the name of a domain that another customer has proved', async () => {
  const [uid = ''] = (await newCampaign('boss@house.example')).split(' ');
  const refused = await run(uid);
  expect(refused.text).toMatch(/belongs to another customer/);
  const tested = await call('POST', `/campaigns/${uid}/test`, { emails: ['me@person.example'] });
  expect([tested.status, tested.text]).toEqual([422, expect.stringMatching(/belongs to another customer/)]);
  const { senderCheck } = await graphql(CHECK, { email: 'boss@house.example' });
  expect(senderCheck).toMatchObject({ signingDomain: null });
});
