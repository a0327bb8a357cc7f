/**
 * A session's cookie at every entry point (hard cases D6, E5, E7, E21): our own pages may use it, no other site changes or reads
 * anything with it, REST does not know it, and it is never taken for an API token nor a token for it. For uploads see
 * rest-facade/upload-by-session.test.ts.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { browse, cookieOf, type BrowserRequest } from '../support/browser.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const URL_ = `${app.baseUrl}/graphql`;
const { host, port, protocol } = new URL(app.baseUrl);
const RENAME = 'mutation { updateProfile(input: { firstName: "Changed" }) { __typename } }';

async function linkOf(tenant: Pick<RestTenant, 'token'>): Promise<{ token: string; url: string }> {
  const { body } = await app.rest('/login-token', { method: 'POST', token: tenant.token });
  return body as { token: string; url: string };
}
const newSession = async (tenant: Pick<RestTenant, 'token'>) => cookieOf(await browse((await linkOf(tenant)).url));

const ownPage = (cookie: string) => ({ cookie, origin: app.baseUrl, 'content-type': 'application/json' });
const run = async (cookie: string, query: string, variables?: object) => {
  const answer = await browse(URL_, {
    method: 'POST',
    headers: ownPage(cookie),
    body: JSON.stringify({ query, variables }),
  });
  return { ...answer, json: JSON.parse(answer.text) };
};
const isIn = async (cookie: string) =>
  (await run(cookie, '{ me { ... on User { uid } } }')).json.data?.me?.uid !== undefined;

describe('our own pages', () => {
  test('read and change with it, by POST and by reading events from the same origin', async () => {
    const tenant = await app.newTenant();
    const cookie = await newSession(tenant);
    expect((await run(cookie, '{ me { ... on User { email } } }')).json).toMatchObject({
      data: { me: { email: tenant.email } },
    });
    expect((await run(cookie, RENAME)).json).toMatchObject({ data: { updateProfile: { __typename: 'User' } } });
    const read = await browse(`${URL_}?query=${encodeURIComponent('{ me { ... on User { email } } }')}`, {
      headers: { cookie, 'sec-fetch-site': 'same-origin', accept: 'application/json' },
    });
    expect(read.text).toContain(tenant.email);
  });

  test('open websockets with it', async () => {
    const cookie = await newSession(await app.newTenant());
    const socket = new WebSocket(URL_.replace('http', 'ws'), 'graphql-transport-ws', {
      origin: app.baseUrl,
      headers: { cookie },
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init' }));
    expect(String((await once(socket, 'message'))[0])).toContain('connection_ack');
    socket.terminate();
  });

  test('log out: the session is over and the cookie taken away', async () => {
    const tenant = await app.newTenant();
    const [byPage, byMutation] = [await newSession(tenant), await newSession(tenant)];
    expect((await browse(`${app.baseUrl}/logout`, { headers: { cookie: byPage } })).text).toContain('method="post"');
    expect(await isIn(byPage)).toBe(true);
    for (const headers of [
      { origin: `${protocol}//news.${host}`, 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      {},
    ]) {
      const { status, text } = await browse(`${app.baseUrl}/logout`, {
        method: 'POST',
        headers: { ...headers, cookie: byPage },
      });
      expect(status).toBe(403);
      // Also where BASE_URL has a path.
      const link = /<a href="([^"]*)"/.exec(text)?.[1] ?? '/';
      expect(new URL(link, 'http://mail.example/mail/logout').pathname).toBe('/mail/logout');
      expect(await isIn(byPage), JSON.stringify(headers)).toBe(true);
    }
    // As browsers send the form of a page with `Referrer-Policy: no-referrer`.
    const form = { origin: 'null', 'sec-fetch-site': 'same-origin', cookie: byPage };
    const answer = await browse(`${app.baseUrl}/logout`, { method: 'POST', headers: form });
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^mailwright_session=; Max-Age=0; /);
    expect([await isIn(byPage), await isIn(byMutation)]).toEqual([false, true]);
    expect((await run(byMutation, 'mutation { logOut { __typename } }')).json).toMatchObject({
      data: { logOut: { __typename: 'LoggedOut' } },
    });
    expect(await isIn(byMutation)).toBe(false);
    // An API token does not log out by accident.
    const { text } = await browse(URL_, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'mutation { logOut { __typename } }' }),
    });
    expect(text).toContain('WrongStateError');
    expect((await app.rest('/me', { token: tenant.token })).status).toBe(200);
  });
});

describe('other sites (D6)', () => {
  const FROM: [string, Record<string, string>][] = [
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a sibling subdomain', { origin: `${protocol}//news.${host}`, 'sec-fetch-site': 'same-site' }],
    ['another port', { origin: `${protocol}//127.0.0.1:${Number(port) + 1}`, 'sec-fetch-site': 'same-site' }],
    ['another scheme', { origin: `https://${host}`, 'sec-fetch-site': 'cross-site' }],
    ['a sandbox', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['a followed link', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
    ['a sibling without an Origin', { 'sec-fetch-site': 'same-site' }],
    ['an old browser without either', {}],
    ['an address typed by hand', { 'sec-fetch-site': 'none' }],
  ];
  const json = JSON.stringify({ query: RENAME });
  const form = new URLSearchParams({ query: RENAME }).toString();
  const HOW: [string, BrowserRequest & { readonly query?: string }][] = [
    ['JSON', { method: 'POST', headers: { 'content-type': 'application/json' }, body: json }],
    ['JSON as plain text', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: json }],
    ['a form', { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: form }],
    [
      'multipart',
      {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: `--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n${json}\r\n--x--`,
      },
    ],
    ['GET', { query: `?query=${encodeURIComponent(RENAME)}` }],
  ];
  const COOKIES: [string, (cookie: string) => string][] = [
    ['alone', (cookie) => cookie],
    ['twice', (cookie) => `${cookie}; ${cookie}`],
    ['after another', (cookie) => `theme=dark; ${cookie}`],
  ];
  const cases = FROM.flatMap(([from, headers]) =>
    HOW.flatMap(([how, request]) => COOKIES.map(([mode, sent]) => ({ from, headers, how, request, mode, sent }))),
  );

  test(`change nothing: ${cases.length} forms`, async () => {
    const tenant = await app.newTenant();
    const cookie = await newSession(tenant);
    expect(cases.length).toBeGreaterThanOrEqual(30);
    for (const { from, headers, how, request, mode, sent } of cases) {
      const answer = await browse(`${URL_}${request.query ?? ''}`, {
        ...request,
        headers: { ...request.headers, ...headers, cookie: sent(cookie) },
      });
      const what = `${how} from ${from}, cookie ${mode}`;
      expect(answer.text, what).not.toContain('"User"');
      expect(answer.headers['access-control-allow-origin'], what).toBeUndefined();
      expect(answer.headers['access-control-allow-credentials'], what).toBeUndefined();
    }
    const [user] = await queryRows<{ first_name: string }>(
      app.ctx.db,
      sql`SELECT first_name FROM app_user WHERE customer_id = ${tenant.customerId}`,
    );
    expect(user?.first_name).toBe('');
    expect(await isIn(cookie)).toBe(true);
  });

  test('read nothing, and open no socket', async () => {
    const tenant = await app.newTenant();
    const cookie = await newSession(tenant);
    for (const [from, headers] of FROM) {
      const read = await browse(`${URL_}?query=${encodeURIComponent('{ me { ... on User { email } } }')}`, {
        headers: { ...headers, cookie, accept: 'application/json' },
      });
      expect(read.text, from).not.toContain(tenant.email);
      const preflight = await browse(URL_, {
        method: 'OPTIONS',
        headers: {
          ...headers,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      });
      expect(
        Object.keys(preflight.headers).filter((name) => name.startsWith('access-control')),
        from,
      ).toEqual([]);
      const socket = new WebSocket(URL_.replace('http', 'ws'), 'graphql-transport-ws', {
        headers: { ...headers, cookie },
      });
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const opened = await Promise.race([
        once(socket, 'open').then(
          () => true,
          () => false,
        ),
        closed.then(() => false),
      ]);
      if (opened) socket.send(JSON.stringify({ type: 'connection_init' }));
      const said = opened ? await Promise.race([once(socket, 'message'), closed]) : 'refused';
      expect(JSON.stringify(said), from).not.toContain('connection_ack');
      socket.terminate();
    }
  });

  test('REST takes no cookie, not even from our own pages', async () => {
    const cookie = await newSession(await app.newTenant());
    for (const headers of [ownPage(cookie), { cookie }, { cookie, 'sec-fetch-site': 'same-origin' }]) {
      const answer = await browse(`${app.baseUrl}/api/v1/me`, { headers });
      expect(answer.status).toBe(401);
    }
  });
});

describe('kinds stay apart (E7)', () => {
  test('nothing but an API token is one', async () => {
    const tenant = await app.newTenant();
    const cookie = await newSession(tenant);
    const link = await linkOf(tenant);
    const ids = recipientOfCampaign({ customerId: tenant.customerId, listId: 1n, campaignId: 1n, subscriberId: 1n });
    const signer = linkSignerOf(app.ctx.installation);
    const links = signer.forRecipient(ids);
    const signed = [links.open(), links.unsubscribe(), links.webView(), links.updateProfile()].map(lastPart);
    const confirmation = signer.confirmation(ids, new Date(Date.now() + 60_000));
    const others = [cookie.split('=')[1] ?? '', link.token, ...signed, lastPart(confirmation)];
    expect(others.length).toBeGreaterThan(4);
    for (const text of others) {
      for (const place of [{ token: text }, { token: null, body: { api_token: text }, method: 'POST' }]) {
        const answer = await app.rest(place.method ? '/login-token' : '/me', place);
        expect(answer.status, text).toBe(401);
      }
      const { text: said } = await browse(URL_, {
        method: 'POST',
        headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query: RENAME }),
      });
      expect(said, text).toContain('Unauthenticated');
    }
  });

  test('an API token is no cookie and no link, a link no cookie', async () => {
    const tenant = await app.newTenant();
    const login = (
      await app.rest('/user/login', {
        method: 'POST',
        token: null,
        body: { email: tenant.email, password: tenant.password },
      })
    ).body as {
      token: string;
    };
    const { token: link } = await linkOf(tenant);
    for (const text of [tenant.token, login.token, link, link.padEnd(60, 'x')]) {
      expect(await isIn(`mailwright_session=${text}`)).toBe(false);
      expect((await browse(`${app.baseUrl}/u/${text}`)).status).toBe(404);
    }
    for (const text of [tenant.token, login.token])
      expect((await browse(`${app.baseUrl}/login/token/${text}`)).status).toBe(404);
    // With both, the token counts, and a wrong one is not made up for.
    const cookie = await newSession(tenant);
    const { text } = await browse(URL_, {
      method: 'POST',
      headers: { ...ownPage(cookie), authorization: `Bearer ${'x'.repeat(60)}` },
      body: JSON.stringify({ query: '{ me { ... on User { email } } }' }),
    });
    expect(text).not.toContain(tenant.email);
  });

  test('a session is listed and revoked like a token, and never shows its text', async () => {
    const tenant = await app.newTenant();
    const [cookie, other] = [await newSession(tenant), await newSession(tenant)];
    const { json } = await run(
      cookie,
      '{ apiTokens(first: 100) { ... on ApiTokenConnection { nodes { uid kind lastUsedAt lastUsedIp expiresAt } } } }',
    );
    const sessions = json.data.apiTokens.nodes.filter(({ kind }: { kind: string }) => kind === 'session');
    expect(sessions).toHaveLength(2);
    expect(sessions).toContainEqual(
      expect.objectContaining({
        lastUsedAt: expect.any(String),
        lastUsedIp: '127.0.0.1',
        expiresAt: expect.any(String),
      }),
    );
    const unused = sessions.find(({ lastUsedAt }: { lastUsedAt: string | null }) => lastUsedAt === null);
    const act = (name: string) =>
      run(cookie, `mutation ($uid: String!) { ${name}(uid: $uid) { __typename } }`, { uid: unused.uid });
    expect((await act('rotateApiToken')).json.data.rotateApiToken.__typename).toBe('NotFoundError');
    await act('revokeApiToken');
    expect([await isIn(cookie), await isIn(other)]).toEqual([true, false]);
  });

  test('a token that may do less does not learn the text of one that may do more', async () => {
    const tenant = await app.newTenant();
    const ask = async (token: string, query: string, variables: object = {}) =>
      JSON.parse(
        (
          await browse(URL_, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify({ query, variables }),
          })
        ).text,
      ).data;
    const { createApiToken: made } = await ask(
      tenant.token,
      'mutation { createApiToken(input: { name: "small", scopes: ["account:write"] }) { ... on CreatedApiToken { token } } }',
    );
    const { apiTokens } = await ask(
      tenant.token,
      '{ apiTokens(first: 10) { ... on ApiTokenConnection { nodes { uid kind } } } }',
    );
    const primary = apiTokens.nodes.find(({ kind }: { kind: string }) => kind === 'primary');
    const rotate = 'mutation ($uid: String!) { rotateApiToken(uid: $uid) { __typename ... on Error { code } } }';
    expect(await ask(made.token, rotate, { uid: primary.uid })).toMatchObject({
      rotateApiToken: { code: 'SCOPE_NOT_HELD' },
    });
    expect((await app.rest('/me', { token: tenant.token })).status).toBe(200);
  });
});

test('unused for 30 days it is over, used it goes on', async () => {
  const cookie = await newSession(await app.newTenant());
  await app.ctx.db.execute(
    sql`UPDATE api_token SET last_used_at = now() - interval '29 days', expires_at = now() + interval '1 day' WHERE kind = 'session'`,
  );
  expect(await isIn(cookie)).toBe(true);
  const [row] = await queryRows<{ days: number }>(
    app.ctx.db,
    sql`SELECT max(extract(day FROM expires_at - now()))::int AS days FROM api_token WHERE kind = 'session'`,
  );
  expect(row?.days).toBeGreaterThanOrEqual(29);
  await app.ctx.db.execute(sql`UPDATE api_token SET expires_at = now() WHERE kind = 'session'`);
  await sleep(5);
  expect(await isIn(cookie)).toBe(false);
});

function lastPart(url: string): string {
  return url.split('/').at(-1) ?? '';
}
