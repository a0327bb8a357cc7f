/**
 * What ends every other login of a user at once (hard case E5): a new password, his own or an administrator's, being
 * disabled, a change of rights. Sessions, login tokens and one-time links are refused with the next request; what is
 * open under them ends within two seconds (D10).
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { setAdministrator } from '../../src/domain/accounts/set-administrator.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const URL_ = `${app.baseUrl}/graphql`;
const CLOSED_WITHIN_SECONDS = 2;
const NEW_PASSWORD = 'entirely different 9';

type Logins = Awaited<ReturnType<typeof loginsOf>>;

/** A user in every way there is: API token, login token, session, a link nobody has followed, sockets on the last two. */
async function loginsOf(tenant: RestTenant) {
  const { email, password } = tenant;
  const logIn = async () => {
    const { body } = await app.rest('/user/login', { method: 'POST', token: null, body: { email, password } });
    return (body as { token: string }).token;
  };
  const link = async () => {
    const { body } = await app.rest('/login-token', { method: 'POST', token: tenant.token });
    return (body as { url: string }).url;
  };
  const login = await logIn();
  const cookie = cookieOf(await browse(await link()));
  const [row] = await queryRows<{ customerUid: string; userUid: string }>(
    app.ctx.db,
    sql`SELECT c.uid AS "customerUid", u.uid AS "userUid" FROM customer c JOIN app_user u ON u.customer_id = c.id WHERE c.id = ${tenant.customerId}`,
  );
  return {
    ...tenant,
    login,
    cookie,
    link: await link(),
    customerUid: row?.customerUid ?? '',
    userUid: row?.userUid ?? '',
    sockets: [await openSocket({ token: login }), await openSocket({ cookie })],
  };
}

async function openSocket({ token, cookie }: { token?: string; cookie?: string }) {
  const socket = new WebSocket(URL_.replace('http', 'ws'), 'graphql-transport-ws', {
    ...(cookie ? { origin: app.baseUrl, headers: { cookie } } : {}),
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', ...(token ? { payload: { apiToken: token } } : {}) }));
  expect(String((await once(socket, 'message'))[0])).toContain('connection_ack');
  return { socket, closed };
}

async function ask(who: { token?: string; cookie?: string }, query: string, variables: object = {}) {
  const { text } = await browse(URL_, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(who.token ? { authorization: `Bearer ${who.token}` } : {}),
      ...(who.cookie ? { cookie: who.cookie, origin: app.baseUrl } : {}),
    },
    body: JSON.stringify({ query, variables }),
  });
  return JSON.parse(text);
}
const isIn = async (who: { token?: string; cookie?: string }) =>
  (await ask(who, '{ me { ... on User { uid } } }')).data?.me?.uid !== undefined;

/**
 * Whether it ends in time. The seconds are counted by what the watch does: it waits for a second and asks the database.
 * Where a busy machine takes longer for that, they are longer here, too.
 */
async function endsSoon(end: Promise<unknown>): Promise<boolean> {
  let hasEnded = false;
  void end.then(() => (hasEnded = true));
  for (let second = 0; !hasEnded && second < onBusyMachine(CLOSED_WITHIN_SECONDS); second++) {
    await sleep(1_000);
    await queryRows(app.ctx.db, sql`SELECT 1 AS one`);
  }
  return hasEnded;
}

/** Call it as soon as the change was answered. */
async function expectEnded({ login, cookie, link, sockets }: Logins): Promise<void> {
  const endInTime = endsSoon(Promise.all(sockets.map(({ closed }) => closed)));
  expect(await isIn({ token: login })).toBe(false);
  expect(await isIn({ cookie })).toBe(false);
  expect((await browse(link)).status).toBe(404);
  // The watch looks every second.
  expect(await endInTime).toBe(true);
}

describe('every other login ends', () => {
  test('with a new password of his own; the one that asked goes on, and so do API tokens', async () => {
    const tenant = await app.newTenant();
    const [one, asking] = [await loginsOf(tenant), await loginsOf(tenant)];
    const change = (currentPassword: string, newPassword: string) =>
      ask(
        { cookie: asking.cookie },
        `mutation ($input: ChangePasswordInput!) { changePassword(input: $input) {
           __typename ... on ValidationError { fields { field } } } }`,
        { input: { currentPassword, newPassword } },
      );
    expect((await change('wrong', NEW_PASSWORD)).data.changePassword.fields).toEqual([{ field: 'currentPassword' }]);
    expect((await change(tenant.password, 'short')).data.changePassword.fields).toEqual([{ field: 'newPassword' }]);
    expect(await isIn({ token: one.login })).toBe(true);
    expect((await change(tenant.password, NEW_PASSWORD)).data.changePassword.__typename).toBe('User');
    await expectEnded(one);
    expect([await isIn({ cookie: asking.cookie }), await isIn({ token: tenant.token })]).toEqual([true, true]);
    expect(await isIn({ token: asking.login })).toBe(false);
    const body = { email: tenant.email, password: tenant.password };
    expect((await app.rest('/user/login', { method: 'POST', token: null, body })).status).toBe(401);
    for (const { socket } of asking.sockets) socket.terminate();
  });

  test('when an administrator sets the password', async () => {
    const logins = await loginsOf(await app.newTenant());
    await app.rest(`/customers/${logins.customerUid}`, { method: 'PATCH', body: { password: NEW_PASSWORD } });
    await expectEnded(logins);
    expect(await isIn({ token: logins.token })).toBe(true);
  });

  test('when the customer is disabled, and does not come back with it', async () => {
    const logins = await loginsOf(await app.newTenant());
    await app.rest(`/customers/${logins.customerUid}/disable`, { method: 'PATCH' });
    await expectEnded(logins);
    expect(await isIn({ token: logins.token })).toBe(false);
    await app.rest(`/customers/${logins.customerUid}/enable`, { method: 'PATCH' });
    expect(await isIn({ token: logins.token })).toBe(true);
    expect(await isIn({ cookie: logins.cookie })).toBe(false);
  });

  test('when the customer is deleted', async () => {
    const logins = await loginsOf(await app.newTenant());
    await app.rest(`/customers/${logins.customerUid}`, { method: 'DELETE' });
    await expectEnded(logins);
    expect(await isIn({ token: logins.token })).toBe(false);
  });

  test('when the user becomes an administrator, and when he is none any more', async () => {
    const tenant = await app.newTenant();
    const set = async (isAdmin: boolean, uid: string, token = app.adminToken) => {
      const { data } = await ask(
        { token },
        'mutation ($input: SetAdministratorInput!) { setAdministrator(input: $input) { __typename ... on Error { code } } }',
        { input: { userUid: uid, isAdmin } },
      );
      return data.setAdministrator;
    };
    for (const isAdmin of [true, false]) {
      const logins = await loginsOf(tenant);
      const byToken = await openSocket({ token: tenant.token });
      expect(await set(isAdmin, logins.userUid)).toEqual({ __typename: 'User' });
      await expectEnded(logins);
      // The API token goes on with the new rights; what was open under it with the old ones does not.
      await byToken.closed;
      expect((await app.rest('/customers', { token: tenant.token })).status).toBe(isAdmin ? 200 : 403);
      expect(await set(!isAdmin, logins.userUid, (await app.newTenant()).token)).toMatchObject({ code: 'FORBIDDEN' });
    }
    const { data } = await ask({ token: app.adminToken }, '{ me { ... on User { uid } } }');
    expect(await set(false, data.me.uid)).toMatchObject({ code: 'CUSTOMER_IS_YOURS' });
    expect((await app.rest('/customers')).status).toBe(200);
  });
});

/** An event stream under a login; resolves when the server has ended it. */
async function watch(login: string, campaignUid: string) {
  const query = `subscription { campaignStatistics(uid: "${campaignUid}") { __typename } }`;
  const response = await fetch(URL_, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${login}` },
    body: JSON.stringify({ query }),
  });
  const reader = response.body?.getReader();
  let first = '';
  while (reader && !first.includes('CampaignStatistics'))
    first += new TextDecoder().decode((await reader.read()).value);
  const ended = (async () => {
    while (reader && !(await reader.read().catch(() => ({ done: true }))).done);
  })();
  return { ended };
}

test('with the second factor switched on, switched off and taken away by an administrator, event streams included', async () => {
  const world = await newWorld(app, {});
  const { token, userUid } = world;
  const run = async (who: string, call: string) =>
    (await ask({ token: who }, `mutation { result: ${call} }`)).data.result;
  const codes = async () => {
    const { secret } = await run(
      token,
      `beginTwoFactor(input: { password: "${world.password}" }) { ... on TwoFactorSecret { secret } }`,
    );
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
    return run(
      token,
      `confirmTwoFactor(input: { code: "${code}" }) { __typename ... on RecoveryCodes { recoveryCodes } }`,
    );
  };
  const logIn = async (code?: string): Promise<string> => {
    const body = { email: world.email, password: world.password, code };
    const answer = await app.rest('/user/login', { method: 'POST', token: null, body });
    return (answer.body as { token: string }).token;
  };
  const expectToEnd = async (login: string, change: () => Promise<{ __typename: string }>, changed: string) => {
    const socket = await openSocket({ token: login });
    const stream = await watch(login, world.campaignUid);
    expect((await change()).__typename).toBe(changed);
    const endInTime = endsSoon(Promise.all([socket.closed, stream.ended]));
    expect(await isIn({ token: login })).toBe(false);
    expect(await endInTime).toBe(true);
  };
  let recovery: string[] = [];
  const on = async () => {
    const confirmed = await codes();
    recovery = confirmed.recoveryCodes;
    return confirmed;
  };
  await expectToEnd(await logIn(), on, 'RecoveryCodes');
  const off = `disableTwoFactor(input: { password: "${world.password}", code: "${recovery[1]}" }) { __typename }`;
  await expectToEnd(await logIn(recovery[0]), () => run(token, off), 'TwoFactorDisabled');
  await on();
  const reset = `resetTwoFactor(userUid: "${userUid}") { __typename }`;
  await expectToEnd(await logIn(recovery[0]), () => run(app.adminToken, reset), 'TwoFactorDisabled');
});

test('the own profile: names and zone freely, the address only with the password', async () => {
  const tenant = await app.newTenant();
  const update = async (input: object) => {
    const { data } = await ask(
      { token: tenant.token },
      `mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) {
         __typename ... on User { email firstName timezone } ... on ValidationError { fields { field } } } }`,
      { input },
    );
    return data.updateProfile;
  };
  expect(await update({ firstName: 'Grace', timezone: 'America/New_York' })).toMatchObject({
    firstName: 'Grace',
    timezone: 'America/New_York',
    email: tenant.email,
  });
  expect(await update({ timezone: null })).toMatchObject({ timezone: 'UTC', firstName: 'Grace' });
  expect((await update({ timezone: 'Nowhere' })).fields).toEqual([{ field: 'timezone' }]);
  const email = `new-${tenant.email}`;
  for (const currentPassword of [undefined, '', 'wrong'])
    expect((await update({ email, currentPassword })).fields).toEqual([{ field: 'currentPassword' }]);
  expect(await update({ email, currentPassword: tenant.password })).toMatchObject({ email });
  expect((await update({ email: 'admin@example.com', currentPassword: tenant.password })).fields).toEqual([
    { field: 'email' },
  ]);
});

test('however many administrators take the right from each other at once, the house keeps one', async () => {
  const [house] = await queryRows<{ id: bigint }>(app.ctx.db, sql`SELECT id FROM customer WHERE is_operator`);
  await app.ctx.db.execute(sql`
    INSERT INTO app_user (customer_id, uid, email, email_key, password_hash, is_admin)
    SELECT ${house?.id}, lpad(to_hex(n), 13, '0'), 'h' || n || '@house.example', 'h' || n || '@house.example', 'x', true
      FROM generate_series(1, 4) n`);
  const users = await queryRows<{ id: bigint; uid: string }>(
    app.ctx.db,
    sql`SELECT id, uid FROM app_user WHERE customer_id = ${house?.id} AND is_admin ORDER BY id`,
  );
  const as = (id: bigint) => ({
    ...app.ctx,
    viewer: {
      ...{ userId: id, userUid: 'x', customerId: house?.id ?? 0n, tokenId: 0n, tokenUid: 't' },
      ...{ tokenKind: 'primary' as const, isAdmin: true, scopes: ['*'] },
    },
  });
  const calls = users.flatMap((one) =>
    users
      .filter(({ id }) => id !== one.id)
      .map(({ uid }) => setAdministrator(as(one.id), { userUid: uid, isAdmin: false })),
  );
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  const left = await queryRows(app.ctx.db, sql`SELECT 1 FROM app_user WHERE customer_id = ${house?.id} AND is_admin`);
  expect(left).toHaveLength(1);
});
