/** One answer names all faults of a request: those of several checks, of nested objects, and of the state of the thing. */
import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';

const app = await startRestApp();
let world: World;
beforeAll(async () => {
  world = await newWorld(app, {});
});

async function faultsOf(method: string, path: string, body: object, token = world.token): Promise<string[]> {
  const answer = await app.rest(path, { method, body, token });
  expect(answer.status, answer.text).toBe(422);
  return Object.keys(Object(answer.body).errors).toSorted();
}

test('of a list and its contact', async () => {
  const body = {
    ...LIST_BODY,
    name: '',
    from_email: 'no',
    contact: { ...CONTACT, email: 'no', company: '', country_id: 9999 },
  };
  expect(await faultsOf('POST', '/lists', body)).toEqual([
    'contact.company',
    'contact.country_id',
    'contact.email',
    'from_email',
    'name',
  ]);
});

test('of a campaign, and that it is under way', async () => {
  const path = `/campaigns/${world.campaignUid}`;
  const changes = { from_email: 'no', subject: 'a\r\nb', quiet_hours: { from: 'x', to: '08:00' } };
  expect(await faultsOf('PATCH', path, changes)).toEqual(['from_email', 'quiet_hours.from', 'subject']);
  await app.ctx.db.execute(
    sql`UPDATE campaign SET status = 'sending', delivery_at = now() WHERE uid = ${world.campaignUid}`,
  );
  expect(await faultsOf('PATCH', path, changes)).toEqual(['from_email', 'quiet_hours.from', 'status', 'subject']);
  expect(await faultsOf('PATCH', path, { subject: 'Other' })).toEqual(['status']);
  const query = `mutation { updateCampaign(input: { uid: "${world.campaignUid}", fromEmail: "no" }) { ... on ValidationError { fields { field } } } }`;
  const overGraphql = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${world.token}` },
    body: JSON.stringify({ query }),
  });
  expect(await overGraphql.json()).toEqual({
    data: { updateCampaign: { fields: [{ field: 'fromEmail' }, { field: 'status' }] } },
  });
});

test('of a sending server and its settings', async () => {
  const body = { name: '', type: 'smtp', quota_value: -5, settings: { port: 'x', colour: 'red' } };
  const made = await faultsOf('POST', '/sending_servers', body);
  expect(made).toEqual(expect.arrayContaining(['name', 'quota_value', 'settings.colour', 'settings.host']));
  const path = `/sending_servers/${world.serverUid}`;
  const changed = await faultsOf('PATCH', path, { default_from_email: 'no', settings: { colour: 'red' } });
  expect(changed).toEqual(['default_from_email', 'settings.colour']);
});

test('of a plan and its options', async () => {
  const body = {
    name: '',
    price: 'x',
    frequency_unit: 'week',
    frequency_amount: 0,
    currency_id: 49,
    options: { list_max: 'x', colour: '1' },
  };
  expect(await faultsOf('POST', '/plans', body, app.adminToken)).toEqual(
    expect.arrayContaining(['frequency_amount', 'name', 'options.colour', 'options.list_max', 'price']),
  );
});

test('of a subscription, and that it has ended', async () => {
  await app.ctx.db.execute(sql`UPDATE subscription SET status = 'ended' WHERE uid = ${world.subscriptionUid}`);
  const body = { ends_at: '2001-01-01 00:00:00', options: { colour: '1' } };
  expect(await faultsOf('PATCH', `/subscriptions/${world.subscriptionUid}`, body, app.adminToken)).toEqual([
    'ends_at',
    'options.colour',
    'status',
  ]);
});

test('of a customer', async () => {
  const body = { email: 'no', password: 'x', timezone: 'Nowhere/At', first_name: 'a\nb' };
  const faults = ['email', 'first_name', 'password', 'timezone'];
  expect(await faultsOf('POST', '/customers', body, app.adminToken)).toEqual(faults);
  expect(await faultsOf('PATCH', `/customers/${world.customerUid}`, body, app.adminToken)).toEqual(faults);
});
