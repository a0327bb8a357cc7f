/** What a customer hears over REST and GraphQL when its plan says no, and what it can read of its limits. */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { insertApiToken } from '../../src/domain/accounts/api-token-store.ts';
import { changeOptions, endPlan, givePlan } from '../support/plans.ts';
import { startRestApp, type RestAnswer, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] });
let port = 0;
beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address === 'object' && address) port = address.port;
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

const contact = {
  ...{ company: 'Acme', address_1: '1 High St', city: 'Springfield', state: 'CA', zip: '1', phone: '1' },
  ...{ country_id: 1, email: 'office@sender.example' },
};
const list = { name: 'Friends', from_email: 'a@b.example', from_name: 'A', default_subject: 'Hi', contact };

async function tenantWith(options: Readonly<Record<string, unknown>>): Promise<RestTenant> {
  const tenant = await app.newTenant();
  await givePlan(app.ctx.db, tenant.customerId, options);
  return tenant;
}
const post = (path: string, body: object, { token }: RestTenant) => app.rest(path, { method: 'POST', body, token });
const listUid = ({ body }: RestAnswer) => (body as { list_uid: string }).list_uid;

async function graphql(
  query: string,
  token: string,
): Promise<{ data: Record<string, unknown>; errors?: { extensions: { code: string } }[] }> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return (await answer.json()) as never;
}

describe('limits', () => {
  test('are a 422 on the field that fits, with the number', async () => {
    const tenant = await tenantWith({ list_max: 1, subscriber_per_list_max: 1, campaign_max: 0 });
    const made = await post('/lists', list, tenant);
    expect(made.status).toBe(201);
    expect(await post('/lists', list, tenant)).toMatchObject({
      status: 422,
      body: { errors: { name: ['The plan allows at most 1 list: this limit is reached.'] } },
    });
    const person = { list_uid: listUid(made), EMAIL: 'one@example.org' };
    expect((await post('/subscribers', person, tenant)).status).toBe(201);
    expect(await post('/subscribers', { ...person, EMAIL: 'two@example.org' }, tenant)).toMatchObject({
      status: 422,
      body: { errors: { EMAIL: [/at most 1 subscriber in a list/] } },
    });
    const campaign = {
      list_uid: listUid(made),
      name: 'N',
      subject: 'S',
      from_name: 'A',
      from_email: 'a@b.example',
      html: '<p>x</p>',
    };
    expect(await post('/campaigns', campaign, tenant)).toMatchObject({
      status: 422,
      body: { errors: { name: [/at most 0 campaigns/] } },
    });
  });

  test('and what is used of them can be read', async () => {
    const tenant = await tenantWith({ list_max: 5, email_max: 100 });
    await post('/lists', list, tenant);
    const query =
      '{ allowance { ... on Allowance { source planName limits { name used max } sending { credits { used max left } quota { used max endsAt } reserved } } } }';
    const { data } = await graphql(query, tenant.token);
    expect(data['allowance']).toMatchObject({
      source: 'plan',
      planName: 'Test plan',
      sending: { credits: { used: 0, max: 100, left: 100 }, quota: { used: 0, max: null, endsAt: null }, reserved: 0 },
    });
    expect((data['allowance'] as { limits: unknown[] }).limits).toContainEqual({ name: 'list_max', used: 1, max: 5 });
    const [row] = await queryRows<{ uid: string }>(
      app.ctx.db,
      sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`,
    );
    const other = `{ customerAllowance(customerUid: "${row?.uid}") { ... on Allowance { source } ... on Error { code } } }`;
    expect((await graphql(other, app.adminToken)).data).toEqual({ customerAllowance: { source: 'plan' } });
    expect((await graphql(other, tenant.token)).data?.['customerAllowance']).toMatchObject({ code: 'FORBIDDEN' });
  });

  test('an ended subscription is a 422 on the status; reading and deleting go on', async () => {
    const tenant = await tenantWith({});
    const uid = listUid(await post('/lists', list, tenant));
    await endPlan(app.ctx.db, tenant.customerId);
    expect(await post('/lists', list, tenant)).toMatchObject({
      status: 422,
      body: { errors: { status: [/has ended/] } },
    });
    expect((await app.rest(`/lists/${uid}`, { token: tenant.token })).status).toBe(200);
    expect((await app.rest(`/lists/${uid}`, { method: 'DELETE', token: tenant.token })).status).toBe(200);
  });
});

describe('api_access no', () => {
  test('refuses tokens made for the API with a 403 that says so; logging in still opens the web app’s entry point', async () => {
    const tenant = await tenantWith({ api_access: 'no' });
    expect(await app.rest('/lists', { token: tenant.token })).toMatchObject({
      status: 403,
      body: { message: 'The plan does not include access to the API.' },
    });
    expect(await app.rest('/me', { token: tenant.token })).toMatchObject({ status: 403 });
    const refused = await graphql(
      '{ lists(first: 1) { ... on MailListConnection { nodes { uid } } ... on Error { code } } }',
      tenant.token,
    );
    expect(refused.data?.['lists']).toEqual({ code: 'API_ACCESS_NOT_INCLUDED' });
    const [user] = await queryRows<{ id: bigint }>(
      app.ctx.db,
      sql`SELECT id FROM app_user WHERE customer_id = ${tenant.customerId}`,
    );
    const login = await insertApiToken(app.ctx.db, {
      ...{ customerId: tenant.customerId, userId: user?.id ?? 0n, kind: 'login', name: 'Login', scopes: ['*'] },
      sessionDays: app.ctx.installation.limits.sessionDays,
    });
    expect(
      (await graphql('{ lists(first: 1) { ... on MailListConnection { nodes { uid } } } }', login.token)).data,
    ).toEqual({
      lists: { nodes: [] },
    });
    expect((await app.rest('/lists', { token: login.token })).status).toBe(403);
    await changeOptions(app.ctx.db, tenant.customerId, { api_access: 'yes' });
    // Another process could have made this change: this one hears of it a moment later.
    await vi.waitFor(async () => expect((await app.rest('/lists', { token: tenant.token })).status).toBe(200), {
      timeout: 120_000,
    });
  });
});

describe('while the operator has closed the service', () => {
  test('administrators and customers whose plan says so are let in, others hear 503', async () => {
    const closed = await startRestApp({}, { maintenance: true });
    const [one, other] = [await closed.newTenant(), await closed.newTenant()];
    await givePlan(closed.ctx.db, one.customerId, { access_when_offline: 'yes' });
    expect((await closed.rest('/lists', { token: one.token })).status).toBe(200);
    expect((await closed.rest('/lists')).status).toBe(200);
    const refused = await closed.rest('/lists', { token: other.token });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('5');
  });
});

describe('sending servers', () => {
  const server = () => ({ name: 'Own', type: 'smtp', settings: { host: '127.0.0.1', port, encryption: 'none' } });

  test('of one’s own only where the plan says so, of its types, and as many as it says', async () => {
    const tenant = await tenantWith({ sending_server_option: 'system' });
    expect(await post('/sending_servers', server(), tenant)).toMatchObject({
      status: 403,
      body: { message: 'The plan does not include own sending servers.' },
    });
    const some = await tenantWith({
      ...{ sending_server_option: 'own', all_sending_server_types: 'no', sending_servers_max: 1 },
      sending_server_types: { sendmail: 'yes', smtp: 'no' },
    });
    expect(await post('/sending_servers', server(), some)).toMatchObject({
      status: 422,
      body: { errors: { type: ['The plan allows own sending servers of these types only: sendmail.'] } },
    });
    await changeOptions(app.ctx.db, some.customerId, { all_sending_server_types: 'yes' });
    expect((await post('/sending_servers', server(), some)).status).toBe(201);
    expect(await post('/sending_servers', server(), some)).toMatchObject({
      status: 422,
      body: { errors: { name: [/at most 1 sending server:/] } },
    });
    const planless = await app.newTenant();
    expect((await post('/sending_servers', server(), planless)).status).toBe(201);
  });
});

describe('a campaign', () => {
  test('without the author’s unsubscribe link cannot be run where the plan asks for one', async () => {
    const tenant = await tenantWith({ unsubscribe_url_required: 'yes', sending_server_option: 'own', email_max: 10 });
    expect(
      (
        await post(
          '/sending_servers',
          { name: 'Own', type: 'smtp', settings: { host: '127.0.0.1', port, encryption: 'none' } },
          tenant,
        )
      ).status,
    ).toBe(201);
    const uid = listUid(await post('/lists', list, tenant));
    await post('/subscribers', { list_uid: uid, EMAIL: 'ann@example.org' }, tenant);
    const words = {
      list_uid: uid,
      name: 'N',
      subject: 'S',
      from_name: 'A',
      from_email: 'a@b.example',
      html: '<p>x</p>',
    };
    const made = await post('/campaigns', words, tenant);
    const campaign = (made.body as { campaign_uid: string }).campaign_uid;
    expect(await post(`/campaigns/${campaign}/run`, {}, tenant)).toMatchObject({
      status: 422,
      body: { errors: { html: ['The plan asks for an unsubscribe link in the html: {UNSUBSCRIBE_URL}.'] } },
    });
    const html = '<p>x <a href="{{ unsubscribe_url }}">leave</a></p>';
    await app.rest(`/campaigns/${campaign}`, { method: 'PATCH', body: { html }, token: tenant.token });
    expect(await post(`/campaigns/${campaign}/run`, {}, tenant)).toMatchObject({
      status: 200,
      body: { campaign: { waits_until: null } },
    });
  });
});
