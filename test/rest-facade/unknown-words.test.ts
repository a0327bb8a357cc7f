/**
 * A word that a closed set does not know (a status, a type, a unit) is a fault of its field like any other: the answer names it
 * with all other faults, although GraphQL refuses such a word before it looks at anything else.
 */
import { expect, test } from 'vitest';
import { webhookEventNames } from '../../src/domain/webhooks/webhook-events.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const world = await newWorld(app, { host: '127.0.0.1', port: 9, encryption: 'none' });

const MAILBOX = { host: '127.0.0.1', username: 'u', password: 'p' };
const CAMPAIGN = { from_email: 'no', subject: 'S', from_name: 'N', name: 'C', html: '<p>' };
const PLAN = { price: '1', currency_code: 'EUR', frequency_amount: 1 };

type Case = readonly [row: string, body: object, faults: Readonly<Record<string, string>>];
const TYPES = 'text, textarea, number, date, datetime, dropdown, radio, multiselect, checkbox';
const oneOf = (label: string, words: string) =>
  `The ${label} must be one of: ${words.split(', ').toSorted().join(', ')}.`;
const type = oneOf('type', TYPES);
const status = oneOf('status', 'subscribed, unsubscribed, unconfirmed');
const isActive = oneOf('status', 'active, inactive');
const event = oneOf('event', webhookEventNames.join(', '));
const unit = oneOf('frequency unit', 'day, week, month, year');
const ANY = expect.any(String);

const cases: Case[] = [
  [
    `PATCH /bounce_handlers/${world.bounceHandlerUid}`,
    { name: '', status: 'on', protocol: 'x' },
    { name: ANY, status: isActive, protocol: oneOf('protocol', 'imap, pop3') },
  ],
  [
    `POST /lists/${world.listUid}/add-field`,
    { type: 'txt', label: '', tag: 'A B', options: ['x'] },
    { type, label: ANY, tag: ANY },
  ],
  [
    `POST /lists/${world.listUid}/add-field`,
    { type: '', label: '', tag: 'AB' },
    { type: 'The type field is required.', label: ANY },
  ],
  [`PATCH /lists/${world.listUid}/fields/FIRST_NAME`, { type: 'Text', label: '' }, { type, label: ANY }],
  ['POST /subscribers', { list_uid: world.listUid, EMAIL: 'no', status: 'banned' }, { EMAIL: ANY, status }],
  [`PATCH /subscribers/${world.subscriberUid}`, { EMAIL: 'no', status: 'pending' }, { EMAIL: ANY, status }],
  [
    'POST /campaigns',
    { ...CAMPAIGN, list_uid: world.listUid, type: 'plain-text' },
    { from_email: ANY, type: oneOf('type', 'regular') },
  ],
  [
    `PATCH /campaigns/${world.campaignUid}`,
    { from_email: 'no', type: 'auto' },
    { from_email: ANY, type: oneOf('type', 'regular') },
  ],
  [
    'POST /suppressions',
    { email: 'no', reason: 'why' },
    { email: ANY, reason: oneOf('reason', 'manual, bounce, complaint, undeliverable') },
  ],
  [
    'POST /bounce_handlers',
    { ...MAILBOX, name: '', protocol: 'smtp', encryption: 'ssl' },
    {
      name: ANY,
      protocol: oneOf('protocol', 'imap, pop3'),
      encryption: oneOf('encryption', 'tls, starttls, none'),
    },
  ],
  ['POST /webhooks', { name: '', event: 'subscriber.add', url: 'https://shop.example/' }, { name: ANY, event }],
  [`PATCH /sending_servers/${world.serverUid}`, { name: '', status: 'on' }, { name: ANY, status: isActive }],
  [
    `PATCH /sending_servers/${world.serverUid}`,
    { name: '', quota_value: 5, quota_unit: 'fortnight' },
    { name: ANY, quota_unit: oneOf('quota unit', 'second, minute, hour, day, month') },
  ],
];
const adminCases: Case[] = [
  ['POST /plans', { ...PLAN, name: '', frequency_unit: 'months' }, { name: ANY, frequency_unit: unit }],
  [
    'POST /plans',
    { ...PLAN, name: 'P', frequency_amount: 0, frequency_unit: 'months' },
    { frequency_amount: ANY, frequency_unit: unit },
  ],
  [`PATCH /plans/${world.planUid}`, { name: '', status: 'deleted' }, { name: ANY, status: isActive }],
  [
    `PATCH /subscriptions/${world.subscriptionUid}`,
    { frequency_unit: 'months', options: { list_max: 'x' } },
    { frequency_unit: unit, 'options.list_max': ANY },
  ],
  [
    'GET /payments?payment_status=open',
    {},
    { payment_status: expect.stringContaining('The payment status must be one of: AWAITING_ADMIN_APPROVAL') },
  ],
];

const played = [
  ...cases.map((one) => [world.token, ...one] as const),
  ...adminCases.map((one) => [app.adminToken, ...one] as const),
];

test.each(['standard', 'classic'])('in the dialect %s', async (dialect) => {
  for (const [token, row, body, faults] of played) {
    const [method = '', path = ''] = row.split(' ');
    const headers = { 'X-Api-Dialect': dialect };
    const answer = await app.rest(path, { method, token, headers, ...(method === 'GET' ? {} : { body }) });
    expect.soft(answer.status, `${row} ${answer.text}`).toBe(422);
    const expected = Object.fromEntries(Object.entries(faults).map(([name, sentence]) => [name, [sentence]]));
    expect.soft(Object(answer.body).errors, row).toEqual(expected);
  }
});

test('rights come first, and nothing is stored', async () => {
  const path = `/plans/${world.planUid}`;
  const changes = { method: 'PATCH', body: { name: 'Renamed', status: 'on' } };
  expect((await app.rest(path, { ...changes, token: world.token })).status).toBe(403);
  expect((await app.rest(path, { ...changes, token: null })).status).toBe(401);
  expect((await app.rest(path, changes)).status).toBe(422);
  expect((await app.rest(path)).text).not.toContain('Renamed');
});

test('GraphQL refuses an unknown word by the name of the enum', async () => {
  const query = 'mutation ($input: AddSubscriberInput!) { addSubscriber(input: $input) { __typename } }';
  const variables = { input: { listUid: world.listUid, email: 'a@people.example', status: 'banned' } };
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${world.token}` };
  const sent = { method: 'POST', headers, body: JSON.stringify({ query, variables }) };
  const { errors } = await (await fetch(`${app.baseUrl}/graphql`, sent)).json();
  expect(errors[0].message).toContain('SettableSubscriberStatus');
});
