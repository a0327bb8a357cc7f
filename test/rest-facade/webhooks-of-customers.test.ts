/** Webhooks of customers by REST and GraphQL: what they are limited to, who sees them, how many there may be, the catalogue of events. */
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { webhookEventNames } from '../../src/domain/webhooks/webhook-events.ts';
import { newUid } from '../../src/lib/ids.ts';
import { mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const [owner, other] = [await app.newTenant(), await app.newTenant()];
const { call, newList, newCampaign } = mailWorld(app, owner);
const URL = 'https://receiver.example/hook';
const make = (event: string, more: object = {}, token = owner.token) =>
  call('POST', '/webhooks', { name: 'Hook', url: URL, event, ...more }, token);
const uidOf = (answer: { readonly body: unknown }) => (answer.body as { webhook_uid: string }).webhook_uid;

test('a webhook is limited to what its event is about, and to what is its own', async () => {
  const [list, foreign] = [await newList(), await newList(other)];
  const campaign = await newCampaign(list);
  const list_uid = list.uid;
  expect(await make('open', { campaign_uid: campaign, list_uid })).toMatchObject({
    status: 201,
    body: { webhook: { event: 'open', kind: 'tracking', campaign_uid: campaign, list_uid, template_uid: null } },
  });
  const refused = async (event: string, more: object) => {
    const { status, body } = await make(event, more);
    return [status, ...Object.keys((body as { errors?: object }).errors ?? {})];
  };
  expect(await refused('subscriber.added', { campaign_uid: campaign })).toEqual([422, 'campaign_uid']);
  expect(await refused('campaign.sent', { template_uid: newUid() })).toEqual([422, 'template_uid']);
  expect(await refused('open', { campaign_uid: newUid() })).toEqual([404]);
  expect(await refused('open', { list_uid: foreign.uid })).toEqual([403]);
  expect(await refused('nothing', {})).toEqual([422, 'event']);
  expect(await make('open', { headers: { Host: 'x' } })).toMatchObject({
    body: { errors: { 'headers.Host': ['The host must be left out: Mailwright sets it itself.'] } },
  });
  expect((await make('new_customer')).status).toBe(403);
  expect((await make('new_customer', { list_uid }, app.adminToken)).status).toBe(422);
});

async function graphql(query: string, variables: object = {}) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return JSON.parse(await response.text());
}

test('the event changes within its kind, null restores the default of the kind', async () => {
  const uid = uidOf(await make('subscriber.tagged', { retry_times: 1, with_machines: 1 }));
  const change = (input: object) =>
    graphql(
      `mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) {
         ... on Webhook { event kind retryTimes retryAfterSeconds withMachines } ... on ValidationError { code fields { field messages } } } }`,
      { input: { uid, ...input } },
    );
  expect(await change({ event: 'subscriber_untagged', retryTimes: null, withMachines: null })).toEqual({
    data: {
      updateWebhook: {
        ...{ event: 'subscriber_untagged', kind: 'subscriber', withMachines: false },
        ...{ retryTimes: 11, retryAfterSeconds: 60 },
      },
    },
  });
  expect(await change({ event: 'campaign_sent' })).toMatchObject({
    data: { updateWebhook: { code: 'WEBHOOK_SCOPE_REFUSED', fields: [{ field: 'event' }] } },
  });
  expect(await call('PATCH', `/webhooks/${uid}`, { event: 'campaign.sent' })).toMatchObject({
    status: 422,
    body: { errors: { event: [expect.stringContaining('another kind')] } },
  });
});

test('others do not see it, administrators see those of the installation beside their own', async () => {
  const uid = uidOf(await make('open'));
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/secret'],
    ['GET', '/deliveries'],
  ] as const)
    expect((await call(method, `/webhooks/${uid}${path}`, {}, other.token)).status, `${method} ${path}`).toBe(403);
  const lifecycle = uidOf(await make('new_customer', {}, app.adminToken));
  expect((await call('GET', `/webhooks/${lifecycle}`)).status).toBe(403);
  const uids = async (token: string, query = '') => {
    const { body } = await call('GET', `/webhooks?per_page=100${query}`, {}, token);
    return (body as { data: { uid: string }[] }).data.map((one) => one.uid);
  };
  expect(await uids(owner.token)).toContain(uid);
  expect(await uids(owner.token, '&kind=campaign')).not.toContain(uid);
  expect(await uids(other.token)).toEqual([]);
  expect(await uids(app.adminToken)).toEqual([lifecycle]);
});

test('it goes with its list, its campaign and its template', async () => {
  const list = await newList();
  const campaign = await newCampaign(list);
  const template = await call('POST', '/templates', { name: 'T', subject: 'S', html: '<p>x</p>' });
  const { template_uid } = template.body as { template_uid: string };
  const [ofCampaign, ofTemplate, ofList] = [
    uidOf(await make('click', { campaign_uid: campaign })),
    uidOf(await make('click', { template_uid })),
    uidOf(await make('subscriber.added', { list_uid: list.uid })),
  ];
  const uids = async (query: string) => {
    const { body } = await call('GET', `/webhooks?${query}`);
    return (body as { data: { uid: string }[] }).data.map((one) => one.uid);
  };
  expect(await uids(`campaign_uid=${campaign}`)).toEqual([ofCampaign]);
  expect(await uids(`template_uid=${template_uid}`)).toEqual([ofTemplate]);
  expect(await uids(`list_uid=${list.uid}`)).toEqual([ofList]);
  await call('DELETE', `/campaigns/${campaign}`);
  await call('DELETE', `/templates/${template_uid}`);
  await call('DELETE', `/lists/${list.uid}`);
  for (const uid of [ofCampaign, ofTemplate, ofList]) expect((await call('GET', `/webhooks/${uid}`)).status).toBe(404);
});

test('a customer has at most 100, the catalogue names every event with its schema and example', async () => {
  const full = await app.newTenant();
  await app.ctx.db.execute(
    sql`INSERT INTO webhook (customer_id, uid, name, kind, event, url, receiver, sealed_secret)
        SELECT ${full.customerId}, lpad(to_hex(n + 1000000), 13, '0'), 'x', 'tracking', 'open', ${URL}, 'https://receiver.example', 'x'::bytea FROM generate_series(1, 100) n`,
  );
  expect(await make('open', {}, full.token)).toMatchObject({
    status: 422,
    body: { errors: { name: [expect.stringContaining('100 webhooks')] } },
  });
  const { body } = await call('GET', '/webhook_events');
  const { events } = body as { events: { event: string; schema: object; example: object }[] };
  expect(events.map(({ event }) => event)).toEqual(webhookEventNames);
  const { data } = await graphql(
    '{ webhookEvents { ... on WebhookEventsSuccess { nodes { event name kind schema } } } }',
  );
  expect(data.webhookEvents.nodes.map(({ name }: { name: string }) => name)).toEqual(webhookEventNames);
  for (const { event, schema, example } of events) {
    expect(schema).toMatchObject({ type: 'object', properties: { event: { const: event } } });
    expect(example).toMatchObject({ event });
  }
});
