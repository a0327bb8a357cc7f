/** Sending servers over REST, with a real SMTP server of another program, and the same over GraphQL. */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Sql } from '../../src/db/database.ts';
import { unsealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';

const [PASSWORD, settings] = ['canary-5f1c-secret', { host: 'h' }];
const app = await startRestApp();
const rowsOf = <Row = Record<string, unknown>>(statement: Sql) => queryRows<Row>(app.ctx.db, statement);
const receiver = new SMTPServer({
  authOptional: false,
  allowInsecureAuth: true,
  disabledCommands: ['STARTTLS'],
  onAuth: ({ username, password }, _session, done) =>
    done(password === PASSWORD ? null : new Error('no'), { user: username }),
});
let port = 0;
beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address === 'object' && address) port = address.port;
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

const smtp = (changes = {}) => ({
  host: '127.0.0.1',
  port,
  encryption: 'none',
  username: 'me',
  password: PASSWORD,
  ...changes,
});
const create = (body: object, token?: string) =>
  app.rest('/sending_servers', { method: 'POST', body, ...(token ? { token } : {}) });
const uidOf = ({ body }: RestAnswer) => (body as { sending_server_uid: string }).sending_server_uid;
const newServer = async (name = 'Post') => uidOf(await create({ name, type: 'smtp', settings: smtp() }));

async function storedServer(uid: string) {
  const [row] = await rowsOf<Record<string, unknown> & { sealed_settings: Buffer }>(
    sql`SELECT * FROM sending_server WHERE uid = ${uid}`,
  );
  return row;
}

describe('creating', () => {
  test('tries, stores sealed, answers without the credentials', async () => {
    const answer = await create({
      name: 'Post',
      type: 'smtp',
      settings: smtp(),
      default_from_email: 'post@example.com',
      quota_value: '100',
      quota_base: '1',
      quota_unit: 'minute',
    });
    expect(answer).toMatchObject({
      status: 201,
      body: { status: 1, message: 'Sending server was successfully created' },
    });
    expect(answer.text).not.toContain(PASSWORD);
    const uid = uidOf(answer);
    expect((await app.rest(`/sending_servers/${uid}`)).body).toEqual({
      sending_server: {
        ...{ uid, fault: null, webhook_url: null, bounces_come_by: 'mail', bounce_warning: null },
        name: 'Post',
        type: 'smtp',
        status: 'active',
        settings: expect.objectContaining({ host: '127.0.0.1', port, encryption: 'none', username: 'me' }),
        default_from_email: 'post@example.com',
        quota_value: 100,
        quota_base: 1,
        quota_unit: 'minute',
        ...{ is_system: true, connections: { now: 2, max: 20 } },
        domain_limits: {},
        warm_up: null,
        health: { state: 'closed', failures: 0, slots: 0, rests_until: null, last_error: null, mailboxes: [] },
        created_at: expect.stringMatching(/^\d{4}-/),
        updated_at: expect.stringMatching(/^\d{4}-/),
      },
    });
    const stored = await storedServer(uid);
    expect(unsealSecrets(app.ctx.installation.secret, uid, stored?.sealed_settings ?? null)).toEqual({
      password: PASSWORD,
    });
    const [dump] = await rowsOf<{ text: string }>(sql`SELECT string_agg(s::text, '') AS text FROM sending_server s`);
    expect(dump?.text).not.toContain(PASSWORD);
    expect(app.logged.join()).not.toContain(PASSWORD);
  });

  test('form clients: settings in brackets, the classic dialect answers 200 and a bare array', async () => {
    const body = new URLSearchParams({ name: 'Form', type: 'smtp' });
    for (const [key, value] of Object.entries(smtp())) body.set(`settings[${key}]`, String(value));
    const headers = { 'X-Api-Dialect': 'classic' };
    expect((await app.rest('/sending_servers', { method: 'POST', body, headers })).status).toBe(200);
    const index = await app.rest('/sending_servers', { headers });
    expect(index.body).toEqual(
      expect.arrayContaining([expect.objectContaining({ uid: expect.any(String), name: 'Form' })]),
    );
  });

  test('the same over GraphQL', async () => {
    const query = `mutation ($input: CreateSendingServerInput!) { createSendingServer(input: $input) {
      __typename ... on SendingServer { uid settings } ... on ValidationError { fields { field messages } } } }`;
    const run = async (settings: object) => {
      const response = await fetch(`${app.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${app.adminToken}` },
        body: JSON.stringify({ query, variables: { input: { name: 'Twin', type: 'smtp', settings } } }),
      });
      return response.text();
    };
    const made = await run(smtp());
    expect(JSON.parse(made)).toMatchObject({
      data: { createSendingServer: { __typename: 'SendingServer', settings: { host: '127.0.0.1' } } },
    });
    expect(made).not.toContain(PASSWORD);
    expect(JSON.parse(await run({ port: 'x' }))).toMatchObject({
      data: {
        createSendingServer: {
          __typename: 'ValidationError',
          fields: expect.arrayContaining([expect.objectContaining({ field: 'settings.host' })]),
        },
      },
    });
  });

  test.each([
    ['nothing at all', {}, ['name', 'type']],
    ['an unknown type', { name: 'a', type: 'carrier-pigeon', settings: {} }, ['type']],
    ['a type whose driver is not installed', { name: 'a', type: 'postmark-api', settings: {} }, ['type']],
    [
      'wrong settings, and one that the driver does not know',
      { name: 'a', type: 'smtp', settings: { port: 99_999, encryption: 'rot13', user: 'me' } },
      ['settings.host', 'settings.port', 'settings.encryption', 'settings.user'],
    ],
    ['settings that are a text', { name: 'a', type: 'smtp', settings: 'x' }, ['settings']],
    ['nested settings', { name: 'a', type: 'smtp', settings: { host: { a: 1 } } }, ['settings.host']],
    ['a line break in the name', { name: 'a\r\nBcc: x@y.example', type: 'smtp', settings }, ['name']],
    ['a wrong address', { name: 'a', type: 'smtp', settings, default_from_email: 'a@b@c' }, ['default_from_email']],
    [
      'a wrong quota',
      { name: 'a', type: 'smtp', settings, quota_value: 0, quota_base: -1, quota_unit: 'fortnight' },
      ['quota_value', 'quota_base', 'quota_unit'],
    ],
    ['a text as quota', { name: 'a', type: 'smtp', settings: {}, quota_value: 'x' }, ['quota_value', 'settings.host']],
  ])('%s is a 422 that names the fields, and nothing is stored', async (_what, body, fields) => {
    const count = () => rowsOf(sql`SELECT count(*) FROM sending_server`);
    const before = await count();
    const answer = await create(body);
    expect(answer).toMatchObject({ status: 422, body: { message: expect.any(String) } });
    expect(Object.keys((answer.body as { errors: object }).errors).toSorted()).toEqual(fields.toSorted());
    expect(await count()).toEqual(before);
  });

  test('a server that does not answer, or refuses the login, is a 422 on `connection`', async () => {
    for (const settings of [smtp({ port: 1 }), smtp({ password: 'wrong' })]) {
      const answer = await create({ name: 'a', type: 'smtp', settings });
      expect(answer).toMatchObject({ status: 422, body: { errors: { connection: [expect.any(String)] } } });
    }
  });
});

describe('changing', () => {
  test('leaves alone what is not given, credentials included', async () => {
    const uid = await newServer();
    const before = await storedServer(uid);
    expect(
      (
        await app.rest(`/sending_servers/${uid}`, {
          method: 'PATCH',
          body: { name: 'New name', settings: { username: 'other' } },
        })
      ).status,
    ).toBe(200);
    const after = await storedServer(uid);
    expect(after).toMatchObject({ name: 'New name', quota_value: before?.['quota_value'] });
    expect(after?.['settings']).toMatchObject({ host: '127.0.0.1', username: 'other' });
    expect(unsealSecrets(app.ctx.installation.secret, uid, after?.sealed_settings ?? null)).toEqual({
      password: PASSWORD,
    });
  });

  test('settings that do not work are not stored', async () => {
    const uid = await newServer();
    const before = await storedServer(uid);
    const wrong = await app.rest(`/sending_servers/${uid}`, {
      method: 'PATCH',
      body: { name: 'x', settings: { password: 'wrong' } },
    });
    expect(wrong).toMatchObject({ status: 422, body: { errors: { connection: expect.any(Array) } } });
    const unknown = await app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body: { settings: { user: 'you' } } });
    expect(unknown.body).toMatchObject({ errors: { 'settings.user': [expect.stringContaining('host, port,')] } });
    expect(
      (await app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body: { type: 'sendmail' } })).body,
    ).toMatchObject({ errors: { type: expect.any(Array) } });
    expect(await storedServer(uid)).toEqual(before);
  });

  test('a quota can be set and taken away', async () => {
    const uid = await newServer();
    const quota = async (body: object) => {
      await app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body });
      const stored = await storedServer(uid);
      return ['quota_value', 'quota_base', 'quota_unit'].map((column) => stored?.[column]);
    };
    expect(await quota({ quota_value: 5 })).toEqual([5, 1, 'hour']);
    expect(await quota({ quota_unit: 'day' })).toEqual([5, 1, 'day']);
    expect(await quota({ quota_value: -1 })).toEqual([null, null, null]);
  });
});

describe('deleting', () => {
  test('is refused, naming the campaign, while one is sent through it', async () => {
    const tenant = await app.newTenant();
    const server = async (name: string) => {
      const uid = newUid();
      await app.ctx.db.execute(
        sql`INSERT INTO sending_server (customer_id, uid, name, type) VALUES (${tenant.customerId}, ${uid}, ${name}, 'smtp')`,
      );
      return uid;
    };
    const [first, second] = [await server('First'), await server('Second')];
    await app.ctx.db.execute(sql`
      WITH l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                 VALUES (${tenant.customerId}, ${newUid()}, 'L', 'S', 'a@b.example', 'A') RETURNING customer_id, id)
      INSERT INTO campaign (customer_id, uid, list_id, name, status) SELECT customer_id, ${newUid()}, id, 'Spring news', 'paused' FROM l`);
    const remove = (uid: string) => app.rest(`/sending_servers/${uid}`, { method: 'DELETE', token: tenant.token });
    expect(await remove(first)).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('Spring news'), errors: { status: [expect.any(String)] } },
    });
    expect((await remove(second)).status).toBe(200);
    await app.rest(`/sending_servers/${first}`, { method: 'PATCH', token: tenant.token, body: { status: 'inactive' } });
    expect(await remove(first)).toMatchObject({ status: 200, body: { status: 1, message: 'Deleted' } });
    expect((await remove(first)).status).toBe(404);
  });
});

describe('tenants', () => {
  test("another tenant's server is a 403 over REST, an unknown one a 404, and neither changes anything", async () => {
    const uid = await newServer();
    const before = await storedServer(uid);
    const { token } = await app.newTenant();
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { body: { name: 'mine' } } : {};
      expect(await app.rest(`/sending_servers/${uid}`, { method, token, ...body })).toMatchObject({
        status: 403,
        body: { message: expect.any(String) },
      });
      expect((await app.rest('/sending_servers/0000000000000', { method, token, ...body })).status).toBe(404);
      expect((await app.rest('/sending_servers/nonsense', { method, token, ...body })).status).toBe(404);
    }
    expect(await storedServer(uid)).toEqual(before);
    expect((await app.rest('/sending_servers', { token })).body).toMatchObject({ data: [], meta: { total: 0 } });
  });

  test("a customer's server must be at a public address (D44)", async () => {
    const { token } = await app.newTenant();
    for (const host of ['127.0.0.1', 'localhost', '169.254.169.254', '0x7f000001', '[::1]', '10.0.0.5']) {
      const answer = await create({ name: 'a', type: 'smtp', settings: smtp({ host }) }, token);
      expect(answer, host).toMatchObject({ status: 422, body: { errors: { 'settings.host': [expect.any(String)] } } });
    }
  });

  test('limits of domains, a warm-up and health are set, shown, cleared and reset', async () => {
    const uid = await newServer();
    const warmUp = { kind: 'exponential', start: 50, factor: 2, goal: 10_000 };
    const limits = { 'gmail.com': 2_000, '*': 500 };
    const patch = (body: object) => app.rest(`/sending_servers/${uid}`, { method: 'PATCH', body });
    expect(await patch({ domain_limits: limits, warm_up: warmUp })).toMatchObject({
      status: 200,
      body: {
        sending_server: {
          domain_limits: limits,
          warm_up: {
            schedule: { ...warmUp, bounce_rate_max: 5 },
            day: 1,
            limit_today: 50,
            used_today: 0,
            stopped_at: null,
          },
        },
      },
    });
    await app.ctx.db.execute(sql`
      WITH s AS (UPDATE sending_server SET warm_up_stopped_at = now(), warm_up_stop_reason = 'Bounced.' WHERE uid = ${uid} RETURNING id)
      INSERT INTO hot.sending_health (server_id, mailbox_group, state, failures, open_until, last_error)
      SELECT s.id, g, 'open', 3, now() + interval '5 minutes', 'too much' FROM s, unnest(ARRAY['', 'google']) g`);
    expect((await app.rest(`/sending_servers/${uid}`)).body).toMatchObject({
      sending_server: {
        warm_up: { stop_reason: 'Bounced.' },
        health: { state: 'open', last_error: 'too much', mailboxes: [{ name: 'google', state: 'open', failures: 3 }] },
      },
    });
    expect(await app.rest(`/sending_servers/${uid}/reset_health`, { method: 'POST' })).toMatchObject({
      status: 200,
      body: { sending_server: { warm_up: { stop_reason: null }, health: { state: 'closed', mailboxes: [] } } },
    });
    expect(await patch({ domain_limits: '', warm_up: null })).toMatchObject({
      body: { sending_server: { domain_limits: {}, warm_up: null } },
    });
    for (const [name, wrong, words] of [
      ['domain_limits', { 'not a domain': 5 }, 'must be named by domain, provider, or *'],
      ['domain_limits', { 'gmail.com': 0 }, 'must be at least 1'],
      ['warm_up', { kind: 'sudden' }, 'must be one of: linear'],
      ['warm_up', { ...warmUp, factor: 1 }, 'must be greater than 1'],
      // A first day that reaches the goal would have no limit.
      ['warm_up', { ...warmUp, start: 10_000, goal: 50 }, 'goal must be greater than the start'],
    ] as const) {
      const { status, body } = await patch({ [name]: wrong });
      expect(status, name).toBe(422);
      const [first] = Object.entries((body as { errors: Record<string, string[]> }).errors);
      expect(first).toEqual([expect.stringContaining(name), [expect.stringContaining(words)]]);
    }
  });

  test('a campaign names its servers by weight, its quiet hours and the time of its people', async () => {
    const uid = await newServer();
    const { token } = await app.newTenant();
    const list = await app.rest('/lists', {
      method: 'POST',
      body: {
        name: 'L',
        from_email: 'a@b.example',
        from_name: 'A',
        default_subject: 'S',
        contact: {
          company: 'C',
          address_1: 'A',
          city: 'C',
          state: 'S',
          zip: '1',
          phone: '1',
          country_id: 1,
          email: 'c@d.example',
        },
      },
    });
    const routing = {
      sending_servers: [{ uid, weight: 3 }],
      quiet_hours: { from: '21:00', to: '08:00', timezone: null },
      deliver_in_subscriber_timezone: true,
      local_time: '09:30',
    };
    const words = { name: 'N', subject: 'S', from_email: 'n@s.example', from_name: 'S', html: '<p>Hi</p>' };
    const made = await app.rest('/campaigns', {
      method: 'POST',
      body: { list_uid: (list.body as { list_uid: string }).list_uid, ...words, ...routing },
    });
    expect(made).toMatchObject({ status: 201, body: { campaign: routing } });
    const campaign = (made.body as { campaign_uid: string }).campaign_uid;
    const patch = (body: object) => app.rest(`/campaigns/${campaign}`, { method: 'PATCH', body });
    expect(await patch({ sending_servers: [], quiet_hours: '', local_time: '' })).toMatchObject({
      body: {
        campaign: { sending_servers: [], quiet_hours: null, local_time: null, deliver_in_subscriber_timezone: true },
      },
    });
    const theirs = await app.rest('/sending_servers', { token });
    expect(theirs.status).toBe(200);
    expect((await patch({ sending_servers: [{ uid: '0000000000000' }] })).status).toBe(404);
    for (const [wrong, words] of [
      [{ quiet_hours: { from: '25:00', to: '08:00' } }, 'The value of “from” must be a time of day such as 08:30.'],
      [{ quiet_hours: { from: '08:00', to: '08:00' } }, 'at different times'],
      [{ local_time: 'noon' }, 'The local time must be a time of day such as 08:30.'],
      [{ sending_servers: [{ uid, weight: 0 }] }, 'at least 1'],
      [{ sending_servers: 'x' }, 'list of {uid, weight}'],
    ] as const) {
      const { status, body } = await patch(wrong);
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining(words)]);
    }
  });

  test('scopes of a token hold', async () => {
    const { token } = await app.newTenant({ scopes: ['sending-servers:read'] });
    expect((await app.rest('/sending_servers', { token })).status).toBe(200);
    expect((await create({ name: 'a', type: 'smtp', settings: smtp() }, token)).status).toBe(403);
    expect(
      (await app.rest('/sending_servers', { token: (await app.newTenant({ scopes: ['lists:read'] })).token })).status,
    ).toBe(403);
  });
});

test('where the operator allows the network, a customer may use it', async () => {
  const open = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.0/8' });
  const { token } = await open.newTenant();
  const answer = await open.rest('/sending_servers', {
    method: 'POST',
    token,
    body: { name: 'a', type: 'smtp', settings: smtp() },
  });
  expect(answer.status).toBe(201);
  expect((await open.rest(`/sending_servers/${uidOf(answer)}`, { token })).body).toMatchObject({
    sending_server: { is_system: false },
  });
});
