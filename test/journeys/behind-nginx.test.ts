/**
 * The program behind a real nginx with TLS, configured by the block of the manual: links, login, inbox, event stream,
 * websocket, client addresses. Needs nginx (Debian's package) and openssl; where there is none this file is left out.
 */
import { createClient } from 'graphql-ws';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket, type ClientOptions } from 'ws';
import { NGINX, PROXY_HOST as HOST, startNginx, type Nginx } from '../support/nginx.ts';
import { startProgram, type Program } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

/** Clients of the loopback network that are not the proxy. */
const [BROWSER, GUESSER] = ['127.0.0.21', '127.0.0.22'];
const TYPED = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
/** Decision D3: what the program takes. */
const REQUEST_LINE_BYTES = 64 * 1024;

const contact = {
  ...{ company: 'Acme', address_1: '1 High Street', city: 'Springfield', state: 'CA', zip: '12345', phone: '1' },
  ...{ country_id: 1, email: 'a@acme.example' },
};
const sender = { from_email: 'news@acme.example', from_name: 'Acme' };

describe.skipIf(NGINX === undefined)('behind nginx, as the manual says (left out where nginx is not installed)', () => {
  let program: Program;
  let nginx: Nginx;
  let listUid = '';
  let campaignUid = '';
  let mail = { html: '', headers: '' };

  beforeAll(async () => {
    const { url } = await createTestDatabase();
    const settings = { BASE_URL: `https://${HOST}`, TRUSTED_PROXIES: '127.0.0.1' };
    program = await startProgram({ DATABASE_URL: url, INBOX: 'on', INBOX_SMTP_PORT: '0', ...settings });
    nginx = await startNginx(new URL(program.baseUrl));
    await sendOneCampaign();
  });

  async function rest(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await nginx.ask(`/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return JSON.parse(answer.text);
  }

  async function sendOneCampaign(): Promise<void> {
    const list = await rest('POST', '/lists', { name: 'Friends', default_subject: 'News', ...sender, contact });
    listUid = String(list['list_uid']);
    await rest('POST', '/subscribers', { list_uid: listUid, EMAIL: 'ann@example.org' });
    const html = '<html><body><p><a href="https://example.com/offer">offer</a></p></body></html>';
    const campaign = { list_uid: listUid, name: 'News', subject: 'News', ...sender, html };
    campaignUid = String((await rest('POST', '/campaigns', campaign))['campaign_uid']);
    await rest('POST', `/campaigns/${campaignUid}/run`);
    const authorization = `Bearer ${program.token}`;
    const read = async (path: string) => JSON.parse((await nginx.ask(path, { headers: { authorization } })).text);
    const id = await vi.waitFor(async () => {
      const { messages } = (await read('/inbox/messages')) as { messages: { id: number }[] };
      if (messages[0] === undefined) throw new Error('No mail yet.');
      return messages[0].id;
    }, 120_000);
    const { html: sent, headers } = await read(`/inbox/messages/${id}`);
    mail = { html: String(sent), headers: JSON.stringify(headers) };
  }

  function pathIn(text: string, start: string): string {
    return RegExp(`https://${HOST}(${start}[^"'<>\\s\\\\]+)`).exec(text)?.[1] ?? `no ${start} in ${text}`;
  }

  async function query(document: string): Promise<unknown> {
    const { text } = await nginx.ask('/graphql', {
      method: 'POST',
      headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: document }),
    });
    return JSON.parse(text).data;
  }

  async function logIn(): Promise<{ cookie: string; setCookie: string }> {
    const { url } = await rest('POST', '/login-token');
    const { status, headers } = await nginx.ask(pathIn(String(url), '/login/token/'), {
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', ...TYPED },
      from: BROWSER,
    });
    expect([status, headers.location]).toEqual([303, `https://${HOST}/`]);
    const setCookie = headers['set-cookie']?.[0] ?? '';
    return { cookie: setCookie.split(';', 1)[0] ?? '', setCookie };
  }

  it('leads a click on, and answers the pixel', async () => {
    const click = await nginx.ask(pathIn(mail.html, '/c/'));
    expect([click.status, click.headers.location]).toEqual([302, 'https://example.com/offer']);
    const pixel = await nginx.ask(pathIn(mail.html, '/o/'));
    expect([pixel.status, pixel.headers['content-type']]).toEqual([200, 'image/gif']);
    expect(pixel.headers['strict-transport-security']).toContain('max-age=');
  });

  it('logs in by a link, with a cookie for this host only that opens the inbox and empties it', async () => {
    const { cookie, setCookie } = await logIn();
    expect(setCookie).toMatch(/^__Host-mailwright_session=.*; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    const inbox = await nginx.ask('/inbox', { headers: { cookie, ...TYPED } });
    expect([inbox.status, inbox.text.includes('ann@example.org')]).toEqual([200, true]);
    const stranger = await nginx.ask('/inbox', { headers: TYPED });
    expect([stranger.status, stranger.text.includes('/api/v1/login-token')]).toEqual([401, true]);
    const ownPage = { origin: nginx.origin, 'sec-fetch-site': 'same-origin', cookie };
    const cleared = await nginx.ask('/inbox/clear', { method: 'POST', headers: ownPage });
    expect([cleared.status, cleared.headers.location]).toEqual([303, '/inbox']);
  });

  it('passes events of a stream on while the stream is open', async () => {
    const answer = await nginx.open('/graphql', {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${program.token}`, accept: 'text/event-stream' },
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: `subscription { campaignStatistics(uid: "${campaignUid}") { deliveredCount } }` }),
    });
    let seen = '';
    for await (const piece of answer) {
      seen += String(piece);
      // The figures are far shorter than nginx's buffers, and the stream does not end by itself.
      if (seen.includes('"deliveredCount":1')) break;
    }
    expect([answer.headers['content-type'], answer.complete]).toEqual(['text/event-stream', false]);
  });

  it("opens a websocket with the browser's session", async () => {
    const { cookie } = await logIn();
    const options: ClientOptions = { ...nginx.tls, headers: { cookie, host: HOST }, origin: nginx.origin };
    class BrowserSocket extends WebSocket {
      constructor(address: string, protocols?: string | string[]) {
        super(address, protocols, options);
      }
    }
    const url = `wss://${HOST}:${nginx.port}/graphql`;
    const client = createClient({ url, webSocketImpl: BrowserSocket, retryAttempts: 0 });
    const document = `subscription { campaignStatistics(uid: "${campaignUid}") { deliveredCount } }`;
    const first = await client.iterate({ query: document }).next();
    expect(first.value).toEqual({ data: { campaignStatistics: { deliveredCount: 1 } } });
    await client.dispose();
  });

  it("notes the client's address, and not one that the client made up", async () => {
    await logIn();
    const audit =
      '{ auditEvents(first: 10, everybody: true) { ... on AuditEventConnection { nodes { operation ipAddress } } } }';
    await expect
      .poll(() => query(audit))
      .toMatchObject({
        auditEvents: {
          nodes: expect.arrayContaining([{ operation: 'useLoginLink', ipAddress: BROWSER }]),
        },
      });
    const forged = { 'x-forwarded-for': '203.0.113.9', authorization: `Bearer ${'x'.repeat(60)}` };
    expect((await nginx.ask('/api/v1/me', { headers: forged, from: GUESSER })).status).toBe(401);
    await expect.poll(program.output).toContain(`"event":"security.token_refused","address":"${GUESSER}"`);
    expect(program.output()).not.toContain('203.0.113.9');
  });

  it('takes a request line of 64 KiB', async () => {
    const start = `/api/v1/campaigns?${new URLSearchParams({ list_uid: listUid, name: 'Long', subject: 'Long', ...sender })}&html=`;
    const room = REQUEST_LINE_BYTES - `POST ${start} HTTP/1.1`.length;
    const headers = { authorization: `Bearer ${program.token}` };
    const { status, text } = await nginx.ask(start + 'x'.repeat(room), { method: 'POST', headers });
    expect([status, text.match(/x{1000,}/)?.[0].length]).toEqual([201, room]);
  });

  it('unsubscribes by one click of a mail program', async () => {
    expect(mail.headers).toContain('List-Unsubscribe=One-Click');
    const path = pathIn(mail.headers.slice(mail.headers.search(/list-unsubscribe/i)), '/u/');
    const answer = await nginx.ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([200, undefined]);
    const { subscribers } = (await rest('GET', '/subscribers/email/ann@example.org')) as {
      subscribers: { status: string }[];
    };
    expect(subscribers.map(({ status }) => status)).toEqual(['unsubscribed']);
  });
});
