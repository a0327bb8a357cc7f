/** Email verification servers over REST with the bundled verifier and a real name server, and the same over GraphQL. */
import { afterAll, expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { startDnsServer, zoneOf } from '../support/dns-zone.ts';

const dns = await startDnsServer(zoneOf({ 'NS com': ['a.gtld-servers.net'] }));
afterAll(() => dns.close());
const app = await startRestApp({ DNS_SERVERS: dns.address });
const right = {
  name: 'Check',
  type: 'address-check',
  settings: { check_roles: 'no', lookups_max: 10 },
  per_minute_max: 600,
};

const create = (body: object, token?: string) =>
  app.rest('/email_verification_servers', { method: 'POST', body, ...(token ? { token } : {}) });

async function graphql(query: string, variables: object, token = app.adminToken) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}

test('are made, read, changed, tested and deleted', async () => {
  const made = await create(right);
  expect(made).toMatchObject({ status: 201, body: { status: 1, email_verification_server: { is_system: true } } });
  const { email_verification_server_uid: uid } = made.body as { email_verification_server_uid: string };
  const path = `/email_verification_servers/${uid}`;
  expect((await app.rest(path)).body).toEqual({
    email_verification_server: {
      ...{
        uid,
        name: 'Check',
        type: 'address-check',
        status: 'active',
        fault: null,
        is_system: true,
        per_minute_max: 600,
      },
      settings: {
        ...{ check_disposable: true, check_roles: false, disposable_domains: '', allowed_domains: '' },
        ...{ dns_timeout_seconds: 3, lookups_max: 10 },
      },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  });
  const change = await app.rest(path, {
    method: 'PATCH',
    body: { name: 'New', per_minute_max: '', settings: { check_roles: 'yes' } },
  });
  expect(change.body).toMatchObject({
    email_verification_server: { name: 'New', per_minute_max: null, settings: { check_roles: true, lookups_max: 10 } },
  });
  const index = await app.rest('/email_verification_servers');
  expect(index.body).toMatchObject({ data: [{ uid, name: 'New', status: 'active' }] });
  expect((await app.rest(`${path}/test`, { method: 'POST' })).body).toMatchObject({
    test: { passed: true, fault: null },
  });
  dns.zone.set('NS com', 'fail');
  expect((await app.rest(`${path}/test`, { method: 'POST' })).body).toMatchObject({
    message: 'The test failed',
    test: { passed: false, fault: expect.stringContaining('name server') },
  });
  expect(await create(right)).toMatchObject({ status: 422, body: { errors: { connection: [expect.anything()] } } });
  dns.zone.set('NS com', ['a.gtld-servers.net']);
  const twin = await graphql(
    'query ($uid: String!) { emailVerificationServer(uid: $uid) { ... on EmailVerificationServer { name perMinuteMax fault } } }',
    { uid },
  );
  expect(twin).toEqual({ data: { emailVerificationServer: { name: 'New', perMinuteMax: null, fault: null } } });
  expect((await app.rest(path, { method: 'DELETE' })).body).toMatchObject({ message: 'Deleted' });
  expect((await app.rest(path)).status).toBe(404);
});

test('are named with what is wrong in them', async () => {
  const wrong = await create({
    name: '',
    type: 'address-check',
    settings: { lookups_max: 0, look_ups: 1 },
    per_minute_max: -5,
  });
  expect(wrong.status).toBe(422);
  expect(Object.keys((wrong.body as { errors: object }).errors).toSorted()).toEqual([
    ...['name', 'per_minute_max', 'settings.look_ups', 'settings.lookups_max'],
  ]);
});

test('of the system are used by customers of plans that give them', async () => {
  const made = await create(right);
  const { email_verification_server_uid: uid } = made.body as { email_verification_server_uid: string };
  const customer = await app.newTenant();
  const { token } = customer;
  const usable = async () => (await app.rest('/usable_verification_servers', { token })).body;
  const shown = { uid, name: 'Check', type: 'address-check', is_system: true };
  expect(await usable()).toEqual([shown]);
  expect((await app.rest(`/email_verification_servers/${uid}`, { token })).status).toBe(403);
  const plan = await app.rest('/plans', {
    method: 'POST',
    body: {
      name: 'P',
      currency_code: 'EUR',
      price: 0,
      frequency_amount: 1,
      frequency_unit: 'month',
      options: { all_email_verification_servers: 'no' },
    },
  });
  const { plan_uid: planUid } = plan.body as { plan_uid: string };
  const me = (await app.rest('/me', { token })).body as { customer: { uid: string } };
  const assigned = await app.rest(`/customers/${me.customer.uid}/assign-plan/${planUid}`, {
    method: 'POST',
    body: { disable_billing: true },
  });
  expect(assigned.status).toBeLessThan(300);
  expect(await usable()).toEqual([]);
  expect((await create(right, token)).status).toBe(403);
  const choose = (servers: unknown, as = app.adminToken) =>
    app.rest(`/plans/${planUid}/email_verification_servers`, {
      method: 'PATCH',
      token: as,
      body: { email_verification_servers: servers },
    });
  expect((await choose([uid], token)).status).toBe(403);
  expect((await choose([uid])).body).toMatchObject({ status: 1, plan_uid: planUid });
  expect(await usable()).toEqual([shown]);
  const chosen = await graphql('query ($uid: String!) { plan(uid: $uid) { ... on Plan { verificationServers } } }', {
    uid: planUid,
  });
  expect(chosen).toEqual({ data: { plan: { verificationServers: [uid] } } });
  expect((await choose('')).status).toBe(200);
  expect(await usable()).toEqual([]);
  expect((await choose(['0000000000000'])).status).toBe(404);
});
