/** One answer names all faults of a request: those of several checks, of nested objects, and of the state of the thing. */
import { beforeAll, describe, expect, test } from 'vitest';
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

test('of a campaign, but not of a segment whose list could not be read', async () => {
  const other = await app.rest('/lists', { method: 'POST', token: world.token, body: LIST_BODY });
  const body = {
    name: 'C',
    list_uid: Object(other.body).list_uid,
    from_email: 'a@b.example',
    from_name: 'A',
    subject: 'S',
    html: '<p>',
  };
  const made = await app.rest('/campaigns', { method: 'POST', token: world.token, body });
  const path = `/campaigns/${Object(made.body).campaign_uid}`;
  const changes = { list_uid: [world.listUid], segment_uid: world.segmentUid };
  expect(await faultsOf('PATCH', path, changes)).toEqual(['list_uid']);
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

describe.each(['standard', 'classic'] as const)(
  'values of the wrong type and unknown uids, in the dialect %s',
  (dialect) => {
    const UNKNOWN = '0123456789abc';
    let world: World;
    beforeAll(async () => {
      world = await newWorld(app, {});
    });
    const ask = (method: string, path: string, body: object, token: string | null = world.token) =>
      app.rest(path, { method, body, token, headers: { 'X-Api-Dialect': dialect } });
    const faults = async (method: string, path: string, body: object, token = world.token) => {
      const answer = await ask(method, path, body, token);
      expect(answer.status, answer.text).toBe(422);
      return Object.keys(Object(Object(answer.body).errors)).toSorted();
    };

    test('of a list and its contact', async () => {
      const contact = { ...CONTACT, company: { a: 1 }, email: 'no', country_id: 'abcd' };
      const body = { ...LIST_BODY, from_email: 'no', subscribe_confirmation: 'perhaps', contact };
      const expected = [
        'contact.company',
        'contact.country_id',
        'contact.email',
        'from_email',
        'subscribe_confirmation',
      ];
      expect(await faults('POST', '/lists', body)).toEqual(expected);
      expect(await faults('PATCH', `/lists/${world.listUid}`, body)).toEqual(expected);
    });

    test('of a campaign', async () => {
      const right = { name: 'N', from_name: 'A', subject: 'S', html: '<p>H</p>' };
      const wrong = { mail_list_uid: UNKNOWN, from_email: 'no', track_open: 'perhaps', delivery_at: 'soon' };
      const expected = ['delivery_at', 'from_email', 'list_uid', 'track_open'];
      expect(await faults('POST', '/campaigns', { ...right, ...wrong })).toEqual(expected);
      expect(await faults('PATCH', `/campaigns/${world.campaignUid}`, wrong)).toEqual(expected);
    });

    test('of a subscriber', async () => {
      expect(await faults('POST', '/subscribers', { list_uid: UNKNOWN, EMAIL: 'no', status: {} })).toEqual([
        ...['EMAIL', 'list_uid', 'status'],
      ]);
      expect(await faults('POST', '/subscribers', { list_uid: world.listUid, EMAIL: 'no', tag: [{}] })).toContain(
        'EMAIL',
      );
    });

    test('of a plan, a subscription and a customer', async () => {
      const plan = { name: '', custom_order: 'x', frequency_amount: 'y', options: { colour: 1 } };
      expect(await faults('POST', '/plans', plan, app.adminToken)).toEqual(
        expect.arrayContaining(['custom_order', 'frequency_amount', 'name', 'options.colour']),
      );
      const both = { customer_uid: UNKNOWN, plan_uid: UNKNOWN, disable_billing: 'perhaps' };
      expect(await faults('POST', '/subscriptions', both, app.adminToken)).toEqual([
        ...['customer_uid', 'disable_billing', 'plan_uid'],
      ]);
      const customer = { email: 'no', language_id: 'x', first_name: { a: 1 } };
      expect(await faults('PATCH', `/customers/${world.customerUid}`, customer, app.adminToken)).toEqual([
        ...['email', 'first_name', 'language_id'],
      ]);
    });

    test('of a sending server and its settings', async () => {
      const body = { name: '', type: 'smtp', quota_value: 'x', settings: { host: 'x.example', colour: 'red' } };
      expect(await faults('POST', '/sending_servers', body)).toEqual(['name', 'quota_value', 'settings.colour']);
    });

    test('an unknown uid alone is a 404, one of somebody else a 403, and rights come first', async () => {
      const message = { from_email: 'a@b.example', from_name: 'A', subject: 'S', html: '<p>H</p>' };
      const campaign = { name: 'N', list_uid: UNKNOWN, ...message };
      expect((await ask('POST', '/campaigns', campaign)).status).toBe(404);
      const other = await newWorld(app, {});
      const foreign = { ...campaign, list_uid: other.listUid, track_open: 'perhaps' };
      expect((await ask('POST', '/campaigns', foreign)).status).toBe(403);
      expect((await ask('POST', '/campaigns', { track_open: 'perhaps' }, 'wrong')).status).toBe(401);
      expect((await ask('POST', '/plans', { custom_order: 'x' })).status).toBe(403);
    });

    test('a tree in a JSON text that is too large is no way around a token', async () => {
      const contact = JSON.stringify(Object.fromEntries(Array.from({ length: 1_500 }, (_, no) => [`a${no}`, 1])));
      expect((await ask('POST', '/lists', { contact }, 'wrong')).status).toBe(401);
      expect((await ask('POST', '/lists', { contact })).status).toBe(422);
    });
  },
);
