/** Links that log in once (decision D13; hard case E17): who gets one, what uses it up, what comes of it. */
import { expect, test, describe } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { freePort } from '../support/free-port.ts';
import { sha256 } from '../../src/lib/crypto.ts';
import { browse, cookieOf, type BrowserRequest } from '../support/browser.ts';
import { startRestApp, type RestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const port = await freePort();
const secureOrigin = `http://127.0.0.1:${port}`;
const secure = await startRestApp({ BASE_URL: 'https://mail.example', PORT: String(port) });

interface Link {
  token: string;
  url: string;
}
const requestLink = (token: string, body: object = {}) => app.rest('/login-token', { method: 'POST', token, body });
const newLink = async (token: string, body: object = {}) => (await requestLink(token, body)).body as Link;
const ownPage = (one: RestApp, cookie: string): Record<string, string> => ({
  cookie,
  origin: one.baseUrl,
  'content-type': 'application/json',
});

/** Who a session's cookie is, as the GraphQL entry point sees it. */
async function whoIs(cookie: string): Promise<unknown> {
  const { text } = await browse(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: ownPage(app, cookie),
    body: JSON.stringify({
      query:
        '{ me { ... on User { email } } apiTokens(first: 100) { ... on ApiTokenConnection { nodes { kind scopes } } } }',
    }),
  });
  return JSON.parse(text).data?.me?.email ?? null;
}

describe('asking for one', () => {
  test('the caller gets one for himself: 256 bits, kept as a digest, for ten minutes', async () => {
    const { token, email } = await app.newTenant();
    const answer = await requestLink(token);
    expect(answer).toMatchObject({ status: 200, body: { token: expect.stringMatching(/^[\w-]{43}$/) } });
    const link = answer.body as Link;
    expect(link.url).toBe(`${app.baseUrl}/login/token/${link.token}`);
    expect(Object.keys(link)).toEqual(['token', 'url']);
    const rows = await queryRows<{ digest: Buffer; minutes: number; text: string }>(
      app.ctx.db,
      sql`SELECT digest, extract(epoch FROM expires_at - created_at)::int / 60 AS minutes, t::text AS text FROM login_token t WHERE digest = ${sha256(link.token)}`,
    );
    expect(rows).toMatchObject([{ minutes: 10 }]);
    expect(rows[0]?.text).not.toContain(link.token);
    expect(await whoIs(cookieOf(await browse(link.url)))).toBe(email);
  });

  test.each(['standard', 'classic'])(
    'leads to a page of our own, and to no other, in the dialect %s',
    async (dialect) => {
      const { token } = await app.newTenant();
      const headers = { 'X-Api-Dialect': dialect };
      const ask = (next: string) => app.rest('/login-token', { method: 'POST', token, headers, body: { next } });
      const { url } = (await ask('/inbox?page=2')).body as Link;
      expect(url).toContain('?next=%2Finbox%3Fpage%3D2');
      expect((await browse(url)).headers['location']).toBe(`${app.baseUrl}/inbox?page=2`);
      for (const next of ['https://elsewhere.example/', '//elsewhere.example', 'inbox', '/\\elsewhere.example'])
        expect(await ask(next)).toMatchObject({ status: 422, body: { errors: { next: [expect.any(String)] } } });
      expect(((await ask('')).body as Link).url).not.toContain('next');
    },
  );

  test('an administrator names a customer by customer_uid, uid or email; others only themselves', async () => {
    const [one, other] = [await app.newTenant(), await app.newTenant()];
    const [row] = await queryRows<{ uid: string }>(
      app.ctx.db,
      sql`SELECT uid FROM customer WHERE id = ${one.customerId}`,
    );
    const uid = row?.uid ?? '';
    for (const target of [{ customer_uid: uid }, { uid }, { email: one.email }, { email: one.email.toUpperCase() }]) {
      const link = await newLink(app.adminToken, target);
      expect(await whoIs(cookieOf(await browse(link.url))), JSON.stringify(target)).toBe(one.email);
      expect((await requestLink(one.token, target)).status, 'himself').toBe(200);
      expect((await requestLink(other.token, target)).status, 'somebody else').toBe(403);
    }
    const own = await newLink(app.adminToken);
    expect(await whoIs(cookieOf(await browse(own.url)))).toBe('admin@example.com');
    const two = { customer_uid: uid, email: other.email };
    expect(await requestLink(app.adminToken, two)).toMatchObject({
      status: 422,
      body: { errors: { email: [expect.any(String)] } },
    });
    for (const token of [one.token, other.token]) expect((await requestLink(token, two)).status).toBe(403);
    for (const unknown of [{ customer_uid: '0000000000000' }, { uid: 'x' }, { email: 'nobody@nowhere.example' }]) {
      expect((await requestLink(app.adminToken, unknown)).status).toBe(404);
      // A customer cannot find out who there is.
      expect((await requestLink(other.token, unknown)).status).toBe(403);
    }
  });

  test('what comes of it may do no more than the token that asked', async () => {
    const { token } = await app.newTenant({ scopes: ['account:write', 'lists:read'] });
    const cookie = cookieOf(await browse((await newLink(token)).url));
    const run = async (query: string) =>
      (
        await browse(`${app.baseUrl}/graphql`, {
          method: 'POST',
          headers: ownPage(app, cookie),
          body: JSON.stringify({ query }),
        })
      ).text;
    expect(await run('{ listsPage { ... on MailListPage { total } ... on Error { code } } }')).not.toContain(
      'FORBIDDEN',
    );
    expect(await run('{ sendingServersPage { ... on SendingServerPage { total } ... on Error { code } } }')).toContain(
      'FORBIDDEN',
    );
    const reader = await app.newTenant({ scopes: ['lists:read'] });
    expect((await requestLink(reader.token)).status).toBe(403);
  });

  test('an administrator whose token is cut down gets none for another administrator', async () => {
    const [admin, second] = [await app.newTenant({ scopes: ['admin', 'account:write'] }), await app.newTenant()];
    await app.ctx.db.execute(
      sql`UPDATE app_user SET is_admin = true WHERE customer_id IN (${admin.customerId}, ${second.customerId})`,
    );
    expect((await requestLink(admin.token, { email: second.email })).status).toBe(403);
    expect((await requestLink(app.adminToken, { email: second.email })).status).toBe(200);
    const customer = await app.newTenant();
    expect((await requestLink(admin.token, { email: customer.email })).status).toBe(200);
  });
});

describe('following one', () => {
  test('50 clicks at once: one gets in (E17)', async () => {
    const { token } = await app.newTenant();
    const { url } = await newLink(token);
    const answers = await Promise.all(Array.from({ length: 50 }, () => browse(url)));
    const inside = answers.filter(({ status }) => status === 303);
    expect(inside).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(49);
    expect(answers.filter(({ headers }) => headers['set-cookie'])).toHaveLength(1);
  });

  const MACHINES: [string, BrowserRequest][] = [
    ['HEAD', { method: 'HEAD' }],
    ['OPTIONS', { method: 'OPTIONS' }],
    ['a prefetch', { headers: { 'sec-purpose': 'prefetch;prerender' } }],
    ['a messenger', { headers: { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' } }],
    ['a mail gateway', { headers: { 'user-agent': 'Mozilla/5.0 (Barracuda Sentinel)' } }],
    ['PUT', { method: 'PUT' }],
  ];
  test.each(MACHINES)('%s does not use it up', async (_what, request) => {
    const { token, email } = await app.newTenant();
    const { url } = await newLink(token);
    const first = await browse(url, request);
    expect(first.headers['set-cookie']).toBeUndefined();
    expect(first.headers['location']).toBeUndefined();
    expect(await whoIs(cookieOf(await browse(url)))).toBe(email);
  });

  test('a person who was taken for a program presses the button', async () => {
    const { token, email } = await app.newTenant();
    const { url } = await newLink(token);
    const page = await browse(url, { headers: { 'user-agent': 'Mozilla/5.0 HeadlessChrome/140' } });
    expect(page.text).toContain('<form method="post">');
    const answer = await browse(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(answer).toMatchObject({ status: 303, headers: { location: `${app.baseUrl}/` } });
    expect(await whoIs(cookieOf(answer))).toBe(email);
  });

  test('lands at the start page with a cookie that no script and no other site gets', async () => {
    const { token } = await app.newTenant();
    const answer = await browse((await newLink(token)).url);
    expect(answer).toMatchObject({
      status: 303,
      headers: { location: `${app.baseUrl}/`, 'cache-control': 'no-store' },
    });
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^mailwright_session=\w{60}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test('behind https the cookie is bound to the very host', async () => {
    const { token } = await newSecureLink();
    const overTls = await browse(`${secureOrigin}/login/token/${token}`);
    expect(overTls.headers['set-cookie']?.[0]).toMatch(
      /^__Host-mailwright_session=\w{60}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(overTls.headers['location']).toBe('https://mail.example/');
  });

  test.each([
    ['over', sql`UPDATE login_token SET expires_at = now() - interval '1 second'`],
    ['of a disabled customer', sql`UPDATE customer SET status = 'disabled' WHERE NOT is_operator`],
    ['of a disabled user', sql`UPDATE app_user SET status = 'disabled' WHERE NOT is_admin`],
  ])('one that is %s does not work', async (_what, statement) => {
    const { token } = await app.newTenant();
    const { url } = await newLink(token);
    await app.ctx.db.execute(statement);
    expect(await browse(url)).toMatchObject({
      status: 404,
      headers: expect.not.objectContaining({ 'set-cookie': expect.anything() }),
    });
  });

  test('wrong ones are told apart from used ones by nothing', async () => {
    const { token } = await app.newTenant();
    const { url } = await newLink(token);
    await browse(url);
    const used = await browse(url);
    for (const wrong of ['x', '', 'x'.repeat(43), 'x'.repeat(10_000), '%00', token]) {
      const answer = await browse(`${app.baseUrl}/login/token/${wrong}`);
      expect(answer.status, wrong.slice(0, 20)).toBe(404);
      expect(answer.text).toBe(used.text);
    }
  });

  test('is on the trail, without the link', async () => {
    const { token, customerId } = await app.newTenant();
    const link = await newLink(token);
    await browse(link.url);
    const rows = await queryRows<{ text: string; operation: string; entryPoint: string }>(
      app.ctx.db,
      sql`SELECT e::text AS text, operation, entry_point AS "entryPoint" FROM hot.audit_event e WHERE customer_id = ${customerId} ORDER BY id`,
    );
    expect(rows).toMatchObject([
      { operation: 'createLoginLink', entryPoint: 'rest' },
      { operation: 'useLoginLink', entryPoint: 'page' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(link.token);
  });
});

test('a looping script has twenty links that work', async () => {
  const { token, customerId } = await app.newTenant();
  for (let no = 0; no < 23; no++) await newLink(token);
  const rows = await queryRows(app.ctx.db, sql`SELECT 1 FROM login_token WHERE customer_id = ${customerId}`);
  expect(rows).toHaveLength(20);
});

async function newSecureLink(): Promise<Link> {
  const response = await fetch(`${secureOrigin}/api/v1/login-token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secure.adminToken}` },
  });
  return (await response.json()) as Link;
}
