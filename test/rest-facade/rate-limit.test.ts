/** The operator's limit on requests (specification 8.1, hard case E18): none by default, true over processes and entry points. */
import { createClient } from 'graphql-ws';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { createRequestLimit } from '../../src/domain/accounts/count-requests.ts';
import { RequestCounter } from '../../src/domain/accounts/request-counter.ts';
import { silentLog } from '../../src/lib/log.ts';
import { parseRateLimit } from '../../src/lib/rate-limit.ts';
import { startRestApp } from '../support/rest-app.ts';

const limited = await startRestApp({ RATE_LIMIT: '6/1h', RATE_LIMIT_STRANGERS: '4/1h' });
const deleteStrangersWindows = () =>
  limited.ctx.db.execute(sql`DELETE FROM hot.rate_window WHERE key LIKE 'address:%'`);

const graphql = (token: string | null) =>
  fetch(`${limited.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify({ query: '{ __typename }' }),
  });

describe('a token', () => {
  test('has its requests counted over both entry points, is told what is left, and then refused', async () => {
    const { token } = await limited.newTenant();
    const first = await limited.rest('/me', { token });
    expect(first.headers.get('ratelimit-policy')).toBe('"token";q=6;w=3600');
    expect(first.headers.get('ratelimit')).toMatch(/^"token";r=5;t=(3600|3599|3598)$/);
    await limited.rest('/no/such/row', { token });
    await limited.rest('/lists', { token, method: 'POST', body: '{broken' });
    const second = await graphql(token);
    expect(second.headers.get('ratelimit')).toMatch(/^"token";r=2;/);
    await graphql(token);
    expect((await limited.rest('/me', { token })).headers.get('ratelimit')).toMatch(/;r=0;/);
    const refused = await limited.rest('/me', { token });
    expect(refused).toMatchObject({ status: 429, body: { message: 'Too many requests. Please try again later.' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
    expect(refused.headers.get('ratelimit')).toMatch(/^"token";r=0;t=3\d\d\d$/);
    const refusedGraphql = await graphql(token);
    expect(refusedGraphql.status).toBe(429);
    expect(await refusedGraphql.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    expect(Number(refusedGraphql.headers.get('retry-after'))).toBeGreaterThan(3_500);
  });

  test('is the same one in the header, the query and a body', async () => {
    const { token } = await limited.newTenant();
    await limited.rest('/me', { token });
    await limited.rest(`/me?api_token=${token}`, { token: null });
    await limited.rest('/lists', { token: null, method: 'POST', body: { api_token: token } });
    expect((await limited.rest('/me', { token })).headers.get('ratelimit')).toMatch(/;r=2;/);
  });

  test('does not spend what another tenant has, at the same address', async () => {
    const [greedy, other] = [await limited.newTenant(), await limited.newTenant()];
    for (let n = 0; n < 9; n++) await limited.rest('/me', { token: greedy.token });
    expect((await limited.rest('/me', { token: greedy.token })).status).toBe(429);
    expect((await limited.rest('/me', { token: other.token })).headers.get('ratelimit')).toMatch(/;r=5;/);
  });

  test('is counted for what it does on a websocket, too', async () => {
    const { token } = await limited.newTenant();
    const client = createClient({
      url: `${limited.baseUrl.replace('http:', 'ws:')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0,
    });
    for (let n = 0; n < 6; n++) await client.iterate({ query: '{ __typename }' }).next();
    await expect(client.iterate({ query: '{ __typename }' }).next()).rejects.toMatchObject([
      { extensions: { code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) } },
    ]);
    expect((await limited.rest('/me', { token })).status).toBe(429);
    await client.dispose();
  });
});

describe('strangers', () => {
  test('are counted by address, whatever tokens they invent', async () => {
    await deleteStrangersWindows();
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await limited.rest('/me', { token: String(n).repeat(60) })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
    const { token } = await limited.newTenant();
    expect((await limited.rest('/me', { token })).status).toBe(200);
    const login = await limited.rest('/user/login', {
      method: 'POST',
      token: null,
      body: { email: 'a@b.example', password: 'x' },
    });
    expect(login.status).toBe(429);
    expect(login.headers.get('ratelimit-policy')).toBe('"address";q=4;w=3600');
  });
});

test('pages and links in mails have no limit', async () => {
  for (let n = 0; n < 12; n++) expect((await fetch(`${limited.baseUrl}/healthz`)).status).toBe(200);
  for (let n = 0; n < 12; n++) expect((await fetch(`${limited.baseUrl}/docs`)).headers.get('ratelimit')).toBeNull();
});

test('without the setting nothing is counted and nothing is told', async () => {
  const free = await startRestApp();
  expect((await free.rest('/me')).headers.get('ratelimit')).toBeNull();
  const [row] = await queryRows<{ count: bigint }>(free.ctx.db, sql`SELECT count(*) AS count FROM hot.rate_window`);
  expect(row?.count).toBe(0n);
});

describe('over four processes', () => {
  const { url } = limited.ctx.database;

  /** Four counters with pools of their own, as four processes would have them. */
  async function countAll(requests: number, limit: string): Promise<{ allowed: number; statements: number }> {
    const parsed = parseRateLimit(limit);
    if (!parsed) throw new Error('No limit.');
    let statements = 0;
    const databases = Array.from({ length: 4 }, () => openDatabase({ url, poolSize: 2, log: silentLog }));
    const counters = databases.map((database) => {
      const query: typeof database.query = (...statement) => {
        statements++;
        return database.query(...statement);
      };
      return new RequestCounter({ database: { ...database, query }, log: silentLog });
    });
    const key = `test:${limit}:${requests}`;
    let allowed = 0;
    let next = 0;
    const ask = async () => {
      for (let n = next++; n < requests; n = next++) {
        const { isAllowed } = (await counters[n % 4]?.count(key, parsed)) ?? { isAllowed: false };
        if (isAllowed) allowed++;
      }
    };
    await Promise.all(Array.from({ length: 80 }, ask));
    await expect.poll(() => databases.every(({ pool }) => pool.idleCount === pool.totalCount)).toBe(true);
    await Promise.all(databases.map((database) => database.close()));
    return { allowed, statements };
  }

  test('a small limit is kept exactly', async () => {
    expect((await countAll(2_000, '60/1h')).allowed).toBe(60);
  });

  test('a large one within 1 %, with far fewer statements than requests', async () => {
    const { allowed, statements } = await countAll(12_000, '8000/1h');
    expect(allowed).toBeGreaterThanOrEqual(8_000);
    expect(allowed).toBeLessThanOrEqual(8_080);
    expect(statements).toBeLessThan(4_000);
  });

  test('what is refused already costs no statement', async () => {
    const database = openDatabase({ url, poolSize: 1, log: silentLog });
    let statements = 0;
    const counted = {
      ...database,
      query: ((...statement) => {
        statements++;
        return database.query(...statement);
      }) as typeof database.query,
    };
    const limit = parseRateLimit('1/1h');
    const count = createRequestLimit(
      { perToken: null, perAddress: limit ?? null },
      { database: counted, log: silentLog },
    );
    await count?.({ credential: null, ipAddress: '192.0.2.200' });
    await count?.({ credential: null, ipAddress: '192.0.2.200' });
    statements = 0;
    for (let n = 0; n < 50; n++) {
      const verdict = await count?.({ credential: null, ipAddress: '192.0.2.200' });
      expect(verdict?.isAllowed).toBe(false);
    }
    expect(statements).toBe(0);
    await database.close();
  });

  test('a window ends, and everything is allowed anew', async () => {
    const counter = new RequestCounter({ database: limited.ctx.database, log: silentLog });
    const limit = { requests: 2, windowSeconds: 3 };
    const outcomes = async () =>
      (await Promise.all([1, 2, 3].map(() => counter.count('short', limit)))).map(({ isAllowed }) => isAllowed);
    expect(await outcomes()).toEqual([true, true, false]);
    await new Promise((resolve) => setTimeout(resolve, 3_050));
    expect(await outcomes()).toEqual([true, true, false]);
  });

  test('a database that is away lets requests through: they fail where they need it', async () => {
    const away = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/none', poolSize: 1, log: silentLog });
    const counter = new RequestCounter({ database: away, log: silentLog });
    expect(await counter.count('x', { requests: 1, windowSeconds: 60 })).toMatchObject({ isAllowed: true });
    await away.close();
  });
});

test('the setting is read strictly', () => {
  expect(loadConfig({ RATE_LIMIT: '60/1m' }).RATE_LIMIT).toEqual({ requests: 60, windowSeconds: 60 });
  expect(parseRateLimit('1000/h')).toEqual({ requests: 1_000, windowSeconds: 3_600 });
  for (const wrong of ['60', '0/1m', '60/0m', '60/1y', '-1/1m', '60/2d'])
    expect(() => loadConfig({ RATE_LIMIT: wrong })).toThrow(/RATE_LIMIT/);
});
