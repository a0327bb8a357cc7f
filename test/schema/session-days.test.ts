/**
 * When a login ends by itself (decision D96): after days without use and after days in all, as the operator has set
 * them, judged by the database's clock only.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createApiToken } from '../../src/domain/accounts/create-api-token.ts';
import { REMEMBERED_MS } from '../../src/domain/accounts/token-cache.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { startRestApp } from '../support/rest-app.ts';
import { viewerContext } from '../support/viewer-context.ts';

const app = await startRestApp({}, { sessionIdleDays: 3, sessionDaysMax: 5 });
const URL_ = `${app.baseUrl}/graphql`;

interface Login {
  readonly kind: 'login' | 'session';
  readonly headers: Readonly<Record<string, string>>;
}

async function loginsOf(customer: Awaited<ReturnType<typeof app.newTenant>>): Promise<Login[]> {
  const { email, password } = customer;
  const logged = await app.rest('/user/login', { method: 'POST', token: null, body: { email, password } });
  const link = await app.rest('/login-token', { method: 'POST', token: customer.token });
  const cookie = cookieOf(await browse((link.body as { url: string }).url));
  return [
    { kind: 'login', headers: { authorization: `Bearer ${(logged.body as { token: string }).token}` } },
    { kind: 'session', headers: { cookie, origin: app.baseUrl } },
  ];
}

async function isIn({ headers }: Login): Promise<boolean> {
  const answer = await browse(URL_, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: '{ me { ... on User { uid } } }' }),
  });
  return JSON.parse(answer.text).data?.me?.uid !== undefined;
}

/** Makes the logins older, and waits until none is remembered. */
async function move(customerId: bigint, days: number): Promise<void> {
  await app.ctx.db.execute(sql`
    UPDATE api_token SET created_at = created_at - make_interval(days => ${days}),
           last_used_at = last_used_at - make_interval(days => ${days})
     WHERE customer_id = ${customerId} AND kind IN ('login', 'session')`);
  await sleep(REMEMBERED_MS);
}

/** Days until the logins of a customer end. */
async function daysLeft(customerId: bigint): Promise<number[]> {
  const rows = await queryRows<{ days: number }>(
    app.ctx.db,
    sql`
    SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int AS days FROM api_token
     WHERE customer_id = ${customerId} AND kind IN ('login', 'session') ORDER BY kind`,
  );
  return rows.map(({ days }) => days);
}

test('a use gives a login its days without use again, and never more than its days in all', async () => {
  const tenant = await app.newTenant();
  const logins = await loginsOf(tenant);
  expect(await daysLeft(tenant.customerId)).toEqual([3, 3]);
  await move(tenant.customerId, 1);
  for (const login of logins) expect(await isIn(login)).toBe(true);
  expect(await daysLeft(tenant.customerId)).toEqual([3, 3]);
  await move(tenant.customerId, 3);
  for (const login of logins) expect(await isIn(login)).toBe(true);
  expect(await daysLeft(tenant.customerId)).toEqual([1, 1]);
});

test('after its days in all it is over, however late it was promised to end, with what is open under it', async () => {
  const tenant = await app.newTenant();
  const logins = await loginsOf(tenant);
  const [login] = logins;
  const socket = new WebSocket(URL_.replace('http', 'ws'), 'graphql-transport-ws');
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: login?.headers }));
  expect(String((await once(socket, 'message'))[0])).toContain('connection_ack');
  const closed = once(socket, 'close');
  // As a longer setting of yesterday would have left them.
  await app.ctx.db.execute(
    sql`UPDATE api_token SET expires_at = now() + interval '20 days' WHERE customer_id = ${tenant.customerId} AND kind IN ('login', 'session')`,
  );
  await move(tenant.customerId, 5);
  for (const one of logins) expect(await isIn(one), one.kind).toBe(false);
  await closed;
  const listed = await fetch(URL_, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tenant.token}` },
    body: JSON.stringify({ query: '{ apiTokens { ... on ApiTokenConnection { nodes { kind } } } }' }),
  });
  expect((await listed.json()).data.apiTokens.nodes).toEqual([{ kind: 'primary' }]);
});

describe("whether a token has expired is the database's to say", () => {
  // This process believes that it is the year 2000, or 2100.
  test.each(['2000-01-01', '2100-01-01'])('to a process whose clock says %s', async (date) => {
    const tenant = await app.newTenant();
    const ctx = { ...(await viewerContext(app.ctx, tenant.customerId)), clock: { now: () => new Date(date) } };
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
    await createApiToken(ctx, { name: 'Next week', expiresAt: inDays(7) });
    await expect(createApiToken(ctx, { name: 'Last week', expiresAt: inDays(-7) })).rejects.toMatchObject({
      fields: { expiresAt: ['The expires at must be in the future.'] },
    });
  });
});
