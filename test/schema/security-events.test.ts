/**
 * An attack is seen: logins, refused ones, and changes of how somebody gets in are in the log and, on an account that
 * exists, in its audit trail, whatever the way in; nothing secret is; and what strangers make is bounded. The filter for
 * fail2ban in the manual is run over the lines of these tests.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Secret, TOTP } from 'otpauth';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { browse, cookieOf, USER_AGENT } from '../support/browser.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';

// Each test comes from an address of its own.
const app = await startRestApp({ TRUSTED_PROXIES: '127.0.0.1' });
const URL_ = `${app.baseUrl}/graphql`;
const FAILED = /^security\.(login_failed|login_locked|token_refused|link_refused)$/;
const WAIT = { timeout: 120_000 };
let last = 0;
const newAddress = () => `203.0.113.${++last}`;

type Line = Readonly<Record<string, unknown>>;
const linesFrom = (address: string): Line[] =>
  app.logged
    .map((line): Line => JSON.parse(line))
    .filter((line) => String(line['event']).startsWith('security.') && line['address'] === address);
/** Those that are written behind the answer, too. */
async function expectLines(address: string, lines: readonly Line[]): Promise<void> {
  await vi.waitFor(() => expect(linesFrom(address)).toMatchObject(lines), WAIT);
  expect(linesFrom(address)).toHaveLength(lines.length);
}

interface Row {
  readonly operation: string;
  readonly failure: string | null;
  readonly client: string | null;
}
/** The trail as the customer's own user reads it. */
async function trailOf({ token }: Pick<World, 'token'>): Promise<Row[]> {
  const query =
    '{ auditEvents { ... on AuditEventConnection { nodes { operation failure client ipAddress entryPoint userUid targetUid tokenUid isByOperator } } } }';
  const { data } = await ask({ token }, query);
  return data.auditEvents.nodes;
}

interface Who {
  readonly token?: string;
  readonly address?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask({ token, address, headers }: Who, query: string) {
  const { text } = await browse(URL_, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(address ? { 'x-forwarded-for': address } : {}),
      ...headers,
    },
    body: JSON.stringify({ query }),
  });
  return JSON.parse(text);
}

const logIn = (address: string, body: object) =>
  app.rest('/user/login', { method: 'POST', token: null, body, headers: { 'x-forwarded-for': address } });

describe('logging in', () => {
  test('a wrong password, then the right one: who, from where, with what; the owner reads it', async () => {
    const [world, address] = [await newWorld(app, {}), newAddress()];
    await logIn(address, { email: world.email, password: 'canary-wrong-1' });
    expect((await logIn(address, { email: world.email, password: world.password })).status).toBe(200);
    const who = { userUid: world.userUid, customerId: String(world.customerId), client: 'Node.js', entryPoint: 'rest' };
    await expectLines(address, [
      { level: 'warn', event: 'security.login_failed', operation: 'logIn', reason: 'WRONG_CREDENTIALS', ...who },
      { level: 'info', event: 'security.logged_in', operation: 'logIn', tokenKind: 'login', ...who },
    ]);
    const shown = {
      operation: 'logIn',
      ipAddress: address,
      client: 'Node.js',
      entryPoint: 'rest',
      userUid: world.userUid,
    };
    await vi.waitFor(
      async () =>
        expect(await trailOf(world)).toMatchObject([
          { ...shown, failure: null, targetUid: linesFrom(address)[1]?.['tokenUid'] },
          { ...shown, failure: 'WRONG_CREDENTIALS', isByOperator: false },
        ]),
      WAIT,
    );
  });

  test('unknown accounts are in the log only, and what was typed is not', async () => {
    const address = newAddress();
    const before = await queryRows(app.ctx.db, sql`SELECT 1 FROM hot.audit_event WHERE failure IS NOT NULL`);
    for (const email of ['canary-nobody@example.com', 'canary-nobody@example.com', 'canary-password-as-address'])
      await logIn(address, { email, password: 'canary-wrong-2' });
    await expectLines(address, Array(3).fill({ event: 'security.login_failed', reason: 'WRONG_CREDENTIALS' }));
    const [first, second, third] = linesFrom(address).map((line) => line['nameDigest']);
    expect(first).toMatch(/^[\w-]{12}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(await queryRows(app.ctx.db, sql`SELECT 1 FROM hot.audit_event WHERE failure IS NOT NULL`)).toEqual(before);
  });

  test('a lock-out is told as one, and so is a disabled account', async () => {
    const [world, address, other] = [await newWorld(app, {}), newAddress(), newAddress()];
    for (let no = 0; no < 11; no++) await logIn(address, { email: world.email, password: `canary-wrong-${no}` });
    expect(linesFrom(address).filter(({ event }) => event === 'security.login_failed')).toHaveLength(10);
    expect(linesFrom(address).at(-1)).toMatchObject({
      ...{ event: 'security.login_locked', reason: 'LOGIN_RATE_LIMITED', userUid: world.userUid },
    });
    await vi.waitFor(
      async () => expect((await trailOf(world))[0]).toMatchObject({ failure: 'LOGIN_RATE_LIMITED' }),
      WAIT,
    );
    for (let no = 0; no < 4; no++) await logIn(newAddress(), { email: world.email, password: 'canary-wrong' });
    await logIn(newAddress(), { email: (await app.newTenant()).email, password: 'canary-wrong' });
    expect((await trailOf(world)).filter(({ failure }) => failure === 'LOGIN_RATE_LIMITED')).toHaveLength(1);
    const closed = await newWorld(app, {});
    await app.rest(`/customers/${closed.customerUid}/disable`, { method: 'PATCH' });
    await logIn(other, { email: closed.email, password: closed.password });
    await expectLines(other, [{ event: 'security.login_failed', reason: 'ACCOUNT_DISABLED' }]);
  });

  test('the second factor: asked for, wrong, a used recovery code; and password and code within a session', async () => {
    const [world, address] = [await newWorld(app, {}), newAddress()];
    const who = { token: world.token, address };
    const { password } = world;
    const begun = await ask(
      who,
      `mutation { r: beginTwoFactor(input: { password: "${password}" }) { ... on TwoFactorSecret { secret } } }`,
    );
    const code = new TOTP({ secret: Secret.fromBase32(begun.data.r.secret) }).generate();
    const wrongCode = code === '000000' ? '000001' : '000000';
    const confirm = (given: string) =>
      ask(
        who,
        `mutation { r: confirmTwoFactor(input: { code: "${given}" }) { ... on RecoveryCodes { recoveryCodes } } }`,
      );
    await confirm(wrongCode);
    // Failures are written behind the answer, what went well here in its own transaction.
    await vi.waitFor(async () => expect((await trailOf(world))[0]).toMatchObject({ operation: 'confirmCode' }), WAIT);
    const { recoveryCodes } = (await confirm(code)).data.r;
    await ask(
      who,
      'mutation { changePassword(input: { currentPassword: "canary-wrong", newPassword: "walnut-otter-9" }) { __typename } }',
    );
    await logIn(address, { email: world.email, password });
    await logIn(address, { email: world.email, password, code: wrongCode });
    await logIn(address, { email: world.email, password, code: recoveryCodes[0] });
    await logIn(address, { email: world.email, password, code: recoveryCodes[0] });
    await expectLines(address, [
      {
        event: 'security.login_failed',
        operation: 'confirmCode',
        reason: 'TWO_FACTOR_CODE_WRONG',
        tokenKind: 'primary',
      },
      { event: 'security.changed', operation: 'confirmTwoFactor', userUid: world.userUid, targetUid: world.userUid },
      { event: 'security.login_failed', operation: 'confirmPassword', reason: 'WRONG_PASSWORD' },
      { event: 'security.code_asked', level: 'info', userUid: world.userUid },
      { event: 'security.login_failed', operation: 'logIn', reason: 'TWO_FACTOR_CODE_WRONG' },
      { event: 'security.logged_in', operation: 'logIn' },
      { event: 'security.login_failed', operation: 'logIn', reason: 'TWO_FACTOR_CODE_WRONG' },
    ]);
    for (const secret of [wrongCode, code, begun.data.r.secret, ...recoveryCodes])
      expect(JSON.stringify(linesFrom(address))).not.toContain(`"${secret}"`);
    await vi.waitFor(
      async () =>
        expect((await trailOf(world)).map(({ operation, failure }) => [operation, failure])).toEqual([
          ['logIn', 'TWO_FACTOR_CODE_WRONG'],
          ['logIn', null],
          ['logIn', 'TWO_FACTOR_CODE_WRONG'],
          ['confirmPassword', 'WRONG_PASSWORD'],
          ['confirmTwoFactor', null],
          ['confirmCode', 'TWO_FACTOR_CODE_WRONG'],
          ['beginTwoFactor', null],
        ]),
      WAIT,
    );
  });

  test('a login link: used, used again, made up', async () => {
    const [world, address] = [await newWorld(app, {}), newAddress()];
    const made = await app.rest('/login-token', { method: 'POST', token: world.token });
    const { url, token } = made.body as { url: string; token: string };
    const headers = { 'x-forwarded-for': address };
    const cookie = cookieOf(await browse(url, { headers }));
    expect((await browse(url, { headers })).status).toBe(404);
    expect((await browse(url.replace(token, 'canary'.padEnd(43, 'x')), { headers })).status).toBe(404);
    const session = cookie.split('=')[1] ?? '';
    // What is in a cookie is no API token.
    await ask({ token: session, address }, '{ me { ... on User { uid } } }');
    // Its line is written behind the answer: else that of the next request might be there first.
    await vi.waitFor(() => expect(linesFrom(address)).toHaveLength(4), WAIT);
    const own = { cookie, origin: app.baseUrl };
    await ask({ address, headers: own }, 'mutation { logOut { __typename } }');
    await ask({ address, headers: own }, '{ me { ... on User { uid } } }');
    const client = 'Firefox on Linux';
    await expectLines(address, [
      { event: 'security.logged_in', operation: 'useLoginLink', userUid: world.userUid, client, entryPoint: 'page' },
      { event: 'security.link_refused', reason: 'LINK_USED', userUid: world.userUid, client },
      { event: 'security.link_refused', reason: 'LINK_UNKNOWN' },
      { event: 'security.token_refused', level: 'warn', reason: 'TOKEN_OF_OTHER_KIND', tokenKind: 'session' },
      { event: 'security.changed', operation: 'logOut', tokenKind: 'session' },
      { event: 'security.token_refused', level: 'info', reason: 'TOKEN_REVOKED', tokenKind: 'session' },
    ]);
    for (const secret of [token, session]) expect(app.logged.join('\n')).not.toContain(secret);
    await vi.waitFor(
      async () =>
        expect(await trailOf(world)).toContainEqual(
          expect.objectContaining({ operation: 'useLoginLink', failure: 'LINK_USED', client }),
        ),
      WAIT,
    );
  });
});

describe('a token that does not work', () => {
  test('by REST, GraphQL and websocket: made up, revoked, expired; told with its account where it has one', async () => {
    const [world, address] = [await newWorld(app, {}), newAddress()];
    const create = async (name: string) => {
      const { data } = await ask(
        { token: world.token },
        `mutation { r: createApiToken(input: { name: "${name}" }) { ... on CreatedApiToken { token apiToken { uid } } } }`,
      );
      return { token: String(data.r.token), uid: String(data.r.apiToken.uid) };
    };
    const [revoked, expired] = [await create('Revoked'), await create('Expired')];
    await ask({ token: world.token }, `mutation { revokeApiToken(uid: "${revoked.uid}") { __typename } }`);
    await app.ctx.db.execute(sql`UPDATE api_token SET expires_at = now() WHERE uid = ${expired.uid}`);
    const headers = { 'x-forwarded-for': address };
    await app.rest('/lists', { token: 'canary'.repeat(10), headers });
    await expectLines(address, [
      { event: 'security.token_refused', reason: 'TOKEN_UNKNOWN', entryPoint: 'rest', client: 'Node.js' },
    ]);
    await ask({ token: revoked.token, address }, '{ me { ... on User { uid } } }');
    await vi.waitFor(() => expect(linesFrom(address)).toHaveLength(2), WAIT);
    const socket = new WebSocket(URL_.replace('http', 'ws'), 'graphql-transport-ws', { headers });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: { apiToken: expired.token } }));
    await once(socket, 'close');
    await expectLines(address, [
      { reason: 'TOKEN_UNKNOWN' },
      { reason: 'TOKEN_REVOKED', tokenUid: revoked.uid, userUid: world.userUid, level: 'warn' },
      { reason: 'TOKEN_EXPIRED', tokenUid: expired.uid, userUid: world.userUid, entryPoint: 'graphql', client: null },
    ]);
    await vi.waitFor(
      async () =>
        expect((await trailOf(world)).filter(({ failure }) => failure)).toMatchObject([
          { operation: 'authenticate', failure: 'TOKEN_EXPIRED', tokenUid: expired.uid, ipAddress: address },
          { operation: 'authenticate', failure: 'TOKEN_REVOKED', tokenUid: revoked.uid, ipAddress: address },
        ]),
      WAIT,
    );
  });

  test('a flood leaves ten lines a minute, and one row an hour', async () => {
    const [world, address] = [await newWorld(app, {}), newAddress()];
    await app.ctx.db.execute(sql`UPDATE api_token SET revoked_at = now() WHERE customer_id = ${world.customerId}`);
    await Promise.all(
      Array.from({ length: 200 }, () => ask({ token: world.token, address }, '{ me { ... on User { uid } } }')),
    );
    await vi.waitFor(() => expect(linesFrom(address)).toHaveLength(10), WAIT);
    const rows = sql`SELECT 1 FROM hot.audit_event WHERE customer_id = ${world.customerId} AND failure IS NOT NULL`;
    await vi.waitFor(async () => expect(await queryRows(app.ctx.db, rows)).toHaveLength(1), WAIT);
  });
});

test('the trail keeps at most sixty failures of a user in an hour, however many processes write them', async () => {
  const [world, address] = [await newWorld(app, {}), newAddress()];
  await app.ctx.db.execute(sql`
    INSERT INTO hot.audit_event (customer_id, actor_customer_id, user_uid, operation, entry_point, failure)
    SELECT ${world.customerId}, ${world.customerId}, ${world.userUid}, 'logIn', 'rest', 'WRONG_CREDENTIALS' FROM generate_series(1, 59)`);
  for (let no = 0; no < 3; no++) await logIn(address, { email: world.email, password: `canary-wrong-${no}` });
  const count = async () =>
    (await queryRows(app.ctx.db, sql`SELECT 1 FROM hot.audit_event WHERE customer_id = ${world.customerId}`)).length;
  await vi.waitFor(async () => expect(await count()).toBe(60), WAIT);
  expect((await logIn(address, { email: world.email, password: world.password })).status).toBe(200);
  // What went well is always kept, and it was written behind the failures.
  expect(await count()).toBe(61);
});

test('changes of how somebody gets in, by himself and by an administrator', async () => {
  const [world, address] = [await newWorld(app, {}), newAddress()];
  const headers = { 'x-forwarded-for': address };
  const patch = (path: string, body?: object) => app.rest(path, { method: 'PATCH', body, headers });
  const own = { token: world.token, address };
  const made = await ask(
    own,
    'mutation { r: createApiToken(input: { name: "canary-name" }) { ... on CreatedApiToken { apiToken { uid } } } }',
  );
  const { uid } = made.data.r.apiToken;
  await ask(own, `mutation { rotateApiToken(uid: "${uid}") { __typename } }`);
  await ask(own, `mutation { revokeApiToken(uid: "${uid}") { __typename } }`);
  await ask(
    own,
    `mutation { changePassword(input: { currentPassword: "${world.password}", newPassword: "canary-walnut-9" }) { __typename } }`,
  );
  await ask(own, 'mutation { updateProfile(input: { firstName: "Not worth a line" }) { __typename } }');
  await patch(`/customers/${world.customerUid}`, { password: 'canary-otter-88' });
  await patch(`/customers/${world.customerUid}`, { first_name: 'Not worth a line' });
  const admin = { token: app.adminToken, address };
  await ask(
    admin,
    `mutation { setAdministrator(input: { userUid: "${world.userUid}", isAdmin: true }) { __typename } }`,
  );
  await ask(
    admin,
    `mutation { setAdministrator(input: { userUid: "${world.userUid}", isAdmin: false }) { __typename } }`,
  );
  await patch(`/customers/${world.customerUid}/disable`);
  await patch(`/customers/${world.customerUid}/enable`);
  const byOwner = { event: 'security.changed', userUid: world.userUid, level: 'info' };
  await expectLines(address, [
    { ...byOwner, operation: 'createApiToken', targetUid: uid, client: 'Firefox on Linux' },
    { ...byOwner, operation: 'rotateApiToken', targetUid: uid },
    { ...byOwner, operation: 'revokeApiToken', targetUid: uid },
    { ...byOwner, operation: 'changePassword', targetUid: world.userUid },
    { operation: 'updateCustomer', targetUid: world.customerUid, fields: ['password', 'uid'] },
    { operation: 'setAdministrator', targetUid: world.userUid },
    { operation: 'setAdministrator', targetUid: world.userUid },
    { operation: 'disableCustomer', targetUid: world.customerUid },
    { operation: 'enableCustomer', targetUid: world.customerUid },
  ]);
  const rows = await queryRows<{ operation: string }>(
    app.ctx.db,
    sql`SELECT operation FROM hot.audit_event WHERE customer_id = ${world.customerId} ORDER BY id`,
  );
  expect(rows.map(({ operation }) => operation)).toEqual([
    ...['createApiToken', 'rotateApiToken', 'revokeApiToken', 'changePassword', 'updateProfile', 'updateCustomer'],
    ...['updateCustomer', 'setAdministrator', 'setAdministrator', 'disableCustomer', 'enableCustomer'],
  ]);
});

/** The bytes as they are: no library of ours would send such headers. */
async function sendRaw(lines: readonly string[]): Promise<void> {
  const { hostname, port } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.end(Buffer.from(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`, 'latin1'));
  socket.resume();
  await once(socket, 'close');
}

test('what a stranger says of himself makes no line of its own, and stands in none', async () => {
  const address = newAddress();
  const forged =
    '"}\\n{"time":"2026-01-01T00:00:00.000Z","level":"warn","event":"security.login_failed","address":"198.51.100.1",';
  for (const agent of [`canary\x1b[31m${forged}`, `canary\x85${forged}`, forged])
    await sendRaw([
      'GET /api/v1/me HTTP/1.1',
      'Host: x',
      `X-Forwarded-For: ${address}`,
      `User-Agent: ${agent}`,
      'Authorization: Bearer wrong',
    ]);
  // Escape is refused with the whole request; the others are let in.
  await expectLines(address, Array(2).fill({ reason: 'TOKEN_UNKNOWN', client: 'another program' }));
  // An address that is none is not believed.
  await sendRaw(['GET /api/v1/me HTTP/1.1', 'Host: x', `X-Forwarded-For: ${forged}`, 'Authorization: Bearer wrong']);
  expect(linesFrom('198.51.100.1')).toEqual([]);
});

afterAll(() => {
  const manual = readFileSync('docs/manual/operations.md', 'utf8');
  const filter = /^failregex = (.+)$/m.exec(manual)?.[1] ?? '';
  // fail2ban cuts what is the date out of a line before it looks, and knows addresses as <HOST>.
  const pattern = new RegExp(filter.replace('<HOST>', '(?<host>[0-9a-f.:]+)'));
  expect(USER_AGENT).toContain('Firefox');
  const date = /^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"/;
  expect(/^datepattern = (.+)$/m.exec(manual)?.[1]).toBe('^\\{"time":"%%Y-%%m-%%dT%%H:%%M:%%S\\.%%f%%z"');
  let found = 0;
  for (const line of app.logged) {
    const { event, level, address } = JSON.parse(line);
    const host = pattern.exec(line.replace(date, ''))?.groups?.['host'];
    const isAttack = FAILED.test(event) && level === 'warn';
    expect(host, line).toBe(isAttack ? address : undefined);
    if (isAttack) found += 1;
  }
  expect(found).toBeGreaterThan(40);
  expect(app.logged.join('\n')).not.toMatch(/canary/);
});
