/** The inbox behind a TLS proxy: for an administrator's session or token, and it says how to log in to everybody else. */
import { beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { createInboxStore } from '../../src/inbox/inbox-store.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { startRestApp } from '../support/rest-app.ts';

const port = await freePort();
const direct = `http://127.0.0.1:${port}`;
const app = await startRestApp({
  ...{ BASE_URL: 'https://mail.example', PORT: String(port), TRUSTED_PROXIES: '127.0.0.1' },
  ...{ INBOX: 'on', INBOX_SMTP_PORT: '0' },
});
const store = createInboxStore(app.ctx.database);
/** As the proxy of the manual passes requests on. */
const proxied = { host: 'mail.example', 'x-forwarded-for': '192.0.2.9' };
const typed = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const linked = { ...typed, 'sec-fetch-site': 'cross-site' };
const ownPage = { origin: 'https://mail.example', 'sec-fetch-site': 'same-origin' };

async function newSession(token: string): Promise<string> {
  const { body } = await app.rest('/login-token', { method: 'POST', token });
  const { url } = body as { url: string };
  return cookieOf(await browse(url.replace('https://mail.example', direct), { headers: proxied }));
}
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  browse(`${direct}${path}`, { method, headers: { ...proxied, ...headers } });
const countMails = async () => (await store.page({ limit: 5 })).entries.length;

beforeEach(async () => {
  await store.clear();
  const mail = { mailFrom: 'a@house.test', rcptTo: ['b@there.test'], raw: Buffer.from('Subject: Hello\r\n\r\nHi\r\n') };
  await store.storeBatch([mail]);
});

describe("an administrator's session", () => {
  test('sees every page and the JSON, also by a typed address, a link from elsewhere and an old browser', async () => {
    const cookie = await newSession(app.adminToken);
    expect(cookie).toMatch(/^__Host-mailwright_session=/);
    const id = (await store.page({ limit: 1 })).entries[0]?.id;
    for (const headers of [typed, linked, {}, { 'sec-fetch-site': 'same-origin' }])
      for (const path of ['/inbox', `/inbox/${id}`, `/inbox/${id}/source`, '/inbox/messages']) {
        const { status, text } = await ask(path, { cookie, ...headers });
        expect([path, status, text.includes('Hello')]).toEqual([path, 200, true]);
      }
  });

  test('counts beside an Authorization that is meant for the proxy', async () => {
    const cookie = await newSession(app.adminToken);
    const authorization = `Basic ${Buffer.from('proxy:password').toString('base64')}`;
    expect((await ask('/inbox', { cookie, authorization, ...typed })).status).toBe(200);
  });

  test('empties the inbox from its own pages only', async () => {
    const cookie = await newSession(app.adminToken);
    for (const headers of [
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://other.mail.example', 'sec-fetch-site': 'same-site' },
      { origin: 'https://other.mail.example' },
      { origin: 'null' },
      {},
    ]) {
      expect((await ask('/inbox/clear', { cookie, ...headers }, 'POST')).status).toBe(401);
      expect((await ask('/inbox/messages', { cookie, ...headers }, 'DELETE')).status).toBe(401);
    }
    expect(await countMails()).toBe(1);
    expect((await ask('/inbox/clear', { cookie, ...ownPage }, 'POST')).status).toBe(303);
    expect(await countMails()).toBe(0);
  });

  test('is not used for what other sites load into their pages', async () => {
    const cookie = await newSession(app.adminToken);
    for (const [mode, dest] of [
      ['no-cors', 'image'],
      ['navigate', 'iframe'],
      ['cors', 'empty'],
    ] as const)
      for (const site of ['cross-site', 'same-site']) {
        const headers = { cookie, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
        expect((await ask('/inbox/messages', headers)).status).toBe(401);
      }
  });

  test('ends with logging out', async () => {
    const cookie = await newSession(app.adminToken);
    await ask('/logout', { cookie, ...ownPage }, 'POST');
    expect((await ask('/inbox', { cookie, ...typed })).status).toBe(401);
  });
});

describe('somebody else', () => {
  test('is told how to log in', async () => {
    const page = await ask('/inbox', typed);
    expect([page.status, page.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    for (const said of ['for administrators', 'POST /api/v1/login-token', 'Authorization: Bearer'])
      expect(page.text).toContain(said);
    const json = await ask('/inbox/messages');
    expect([json.status, JSON.parse(json.text).message]).toEqual([401, expect.stringContaining('/api/v1/login-token')]);
  });

  test('is told that the account is no administrator', async () => {
    const { token } = await app.newTenant();
    const answers = [
      await ask('/inbox', { cookie: await newSession(token), ...typed }),
      await ask('/inbox', { authorization: `Bearer ${token}` }),
      await ask('/inbox/clear', { cookie: await newSession(token), ...ownPage }, 'POST'),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(403);
      expect(text).toContain('your account is not one');
      expect(text).toContain('/logout');
    }
    expect(await countMails()).toBe(1);
  });

  test('with a token that is none is in the log with the address', async () => {
    expect((await ask('/inbox', { authorization: `Bearer ${'x'.repeat(60)}` })).status).toBe(401);
    await expect.poll(() => app.logged.join('')).toMatch(/"security\.token_refused","address":"192\.0\.2\.9"/);
  });

  test("with an administrator's token sees it: as a bearer, and as the password of Basic", async () => {
    const basic = `Basic ${Buffer.from(`any:${app.adminToken}`).toString('base64')}`;
    for (const authorization of [`Bearer ${app.adminToken}`, basic])
      expect((await ask('/inbox/messages', { authorization })).status).toBe(200);
  });
});
