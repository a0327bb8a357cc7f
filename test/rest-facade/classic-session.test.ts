/**
 * The whole session of clients that were written years ago, as the wire facts describe them, in one go: the operator's shop makes a
 * plan and a customer, the customer's programs log in, make lists and people, send a campaign through their own server, read
 * its reports, and clear up. The installation speaks the classic dialect (D1), because such clients send no header for it. Every
 * numbered line of the wire facts is played; the last test says which one was not.
 */
import { expect, test } from 'vitest';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import {
  FORM_TYPE,
  JSON_TYPE,
  multipart,
  rowsOf,
  startClassicSession,
  textAt,
  TIME,
  UID,
  urlencoded,
} from '../support/classic-session.ts';
import { campaignSteps } from './classic-session-campaigns.ts';

const session = await startClassicSession();
const { app, known, played, asOperator, ask, raw, bearer, expectDone, allPages, mailTo, here } = session;
const [EMAIL, PASSWORD] = ['ann@shop.example', 'a password of the shop'];

test('the shop makes plans', async () => {
  const plan = { currency_id: '1', frequency_amount: '1', frequency_unit: 'month', price: '0.00', color: 'green' };
  const options = {
    ...{ 'options[email_max]': '10000', 'options[list_max]': '-1', 'options[sending_server_option]': 'own' },
    ...{ 'options[all_sending_server_types]': 'no', 'options[sending_server_types][smtp]': 'yes' },
  };
  const uids: string[] = [];
  for (const name of ['Small', 'Large', 'Huge']) {
    const made = await asOperator('POST', '/plans', { name, ...plan, ...options });
    expectDone(made, 'Plan was successfully created');
    uids.push(textAt(made, 'plan_uid'));
  }
  const rows = await allPages('/plans', app.adminToken);
  expect(rows.map(({ uid }) => uid)).toEqual(expect.arrayContaining(uids));
  expect(rows.find(({ uid }) => uid === uids[0])).toMatchObject({
    ...{ uid: UID, name: 'Small', price: '0.00', currency_code: 'USD', frequency_amount: '1', frequency_unit: 'month' },
    ...{ color: 'green', status: 'active', quota: null, custom_order: expect.stringMatching(/^\d+$/) },
    options: { email_max: '10000', list_max: '-1', sending_server_types: { smtp: 'yes', sendmail: 'no' } },
  });
  for (const { options } of rows)
    for (const [name, value] of Object.entries(Object(options)))
      expect(typeof value, name).toBe(name === 'sending_server_types' ? 'object' : 'string');
  played('requests 3 JSON keys with brackets', 'requests 8 pages until an empty answer: plans', 'answers 3 a plan');
  played('answers 9 plans');
});

test('the shop makes a customer and gives it a plan', async () => {
  const person = { first_name: 'Ann', last_name: 'Smith', timezone: 'Europe/Berlin', language_id: '1' };
  const extra = { color_scheme: 'blue', 'text-direction': 'ltr' };
  const made = await asOperator(
    'POST',
    '/customers',
    urlencoded({ email: EMAIL, password: PASSWORD, ...person, ...extra }),
  );
  expectDone(made, 'Customer was successfully created');
  const uid = (known.customer = textAt(made, 'customer_uid'));
  const { first_name, last_name, timezone } = person;
  const shown = { uid, first_name, last_name, image: null, timezone, status: 'active', options: [] };
  expect((await asOperator('GET', `/customers/${uid}`)).body).toMatchObject({
    customer: { ...shown, current_period_ends_at: null },
  });
  const changed = await asOperator('PATCH', `/customers/${uid}`, { last_name: 'Jones' });
  expect(changed).toMatchObject({ status: 200, body: { customer: { ...shown, last_name: 'Jones' } } });
  for (const [verb, message] of [
    ['disable', 'Customer was disabled'],
    ['enable', 'Customer was enabled'],
  ] as const) {
    const acted = await asOperator('PATCH', `/customers/${uid}/${verb}`);
    expectDone(acted, message);
    expect(acted.body).toMatchObject({ customer_uid: uid });
    played(`answers 10 ${verb}`);
  }
  const plans = await allPages('/plans', app.adminToken);
  const [small, large] = ['Small', 'Large'].map((name) => String(plans.find((row) => row['name'] === name)?.['uid']));
  const billing = { disable_billing: true, gateway: 'direct' };
  const assigned = await asOperator('POST', `/customers/${uid}/assign-plan/${small}`, billing);
  expectDone(assigned, 'Customer was assigned to plan');
  const moved = await asOperator('POST', `/customers/${uid}/change-plan/${large}`);
  expectDone(moved, 'Customer was changed to new plan');
  played('requests 11 more fields of a customer', 'requests 11 more fields of assign-plan', 'answers 3 a customer');
  played('answers 2 1 for an update', 'answers 10 read', 'answers 10 change');
});

test('the shop reads its customers and subscriptions, and deletes one', async () => {
  const more = { first_name: 'Bob', last_name: 'Gone', timezone: 'UTC', language_id: 1, password: PASSWORD };
  const gone = textAt(await asOperator('POST', '/customers', { email: 'bob@shop.example', ...more }), 'customer_uid');
  const rows = await allPages('/customers', app.adminToken);
  expect(rows).toEqual(expect.arrayContaining([known.customer, gone].map((uid) => expect.objectContaining({ uid }))));
  const subscriptions = rowsOf(await asOperator('GET', '/subscriptions?per_page=1000'));
  expect(subscriptions.length).toBeGreaterThan(0);
  for (const row of subscriptions) {
    expect(row).toMatchObject({ id: expect.any(Number), uid: UID, customer_id: expect.any(String) });
    expect(row).toMatchObject({ plan_id: expect.any(String), status: expect.stringMatching(/^(active|ended)$/) });
    expect(Object.keys(row)).toEqual(expect.arrayContaining(['current_period_ends_at', 'ends_at']));
  }
  const deleted = await asOperator('DELETE', `/customers/${gone}`);
  expect(deleted).toMatchObject({ status: 200, body: { status: 1, customer_uid: gone } });
  const link = await asOperator('POST', '/login-token', { customer_uid: known.customer });
  expect(link.body).toEqual({ token: expect.any(String), url: expect.stringContaining(textAt(link, 'token')) });
  played('requests 8 pages until an empty answer: customers', 'answers 10 items', 'answers 11 subscriptions');
  played('answers 10 delete', 'answers 13 login-token');
});

test('the customer logs in, and its programs send the token in every way', async () => {
  const login = await app.rest('/user/login', {
    method: 'POST',
    token: null,
    body: urlencoded({ email: EMAIL, password: PASSWORD }),
  });
  known.token = textAt(login, 'api_token');
  expect(known.token).toMatch(/^[A-Za-z0-9]{60}$/);
  const pair = { api_token: known.token };
  const strangers = [
    await app.rest('/me', { token: known.token }),
    await app.rest(`/me?api_token=${known.token}`, { token: null }),
    await app.rest(`/me?api_token=${known.token}`, { token: known.token }),
    await app.rest('/login-token', { method: 'POST', token: null, body: pair }),
    await app.rest('/login-token', { method: 'POST', token: null, body: urlencoded(pair) }),
    await app.rest('/login-token', { method: 'POST', token: null, body: multipart(pair) }),
    await raw('GET /me', [JSON_TYPE], JSON.stringify(pair)),
  ];
  expect(strangers.map(({ status }) => status)).toEqual(strangers.map(() => 200));
  expect(strangers.at(-1)?.body).toMatchObject({ email: EMAIL });
  played(
    'answers 13 login',
    'requests 1 token as bearer',
    'requests 1 token in the query',
    'requests 1 token sent twice',
  );
  played(
    'requests 1 token in a JSON body',
    'requests 1 token in an urlencoded body',
    'requests 1 token in a multipart body',
  );
});

test('its lists are made in every way of nesting', async () => {
  for (const path of ['/lists', '/subscribers', '/campaigns', '/sending_servers'])
    expect(rowsOf(await ask('GET', path))).toEqual([]);
  const { contact: _, ...flat } = LIST_BODY;
  const bracketed = Object.fromEntries(Object.entries(CONTACT).map(([name, value]) => [`contact[${name}]`, value]));
  const made = [
    await ask('POST', `/lists?${urlencoded({ ...flat, ...bracketed, name: 'Query' })}`),
    await ask('POST', '/lists', urlencoded({ ...flat, ...bracketed, name: 'Form' })),
    await ask('POST', '/lists', multipart({ ...flat, ...bracketed, name: 'Multipart' })),
    await ask('POST', '/lists', { ...flat, ...bracketed, name: 'Brackets' }),
    await ask('POST', '/lists', { ...LIST_BODY, name: 'Object', subscribe_confirmation: 'yes' }),
  ];
  for (const answer of made) {
    expectDone(answer, 'List was successfully created');
    const { body } = await ask('GET', `/lists/${textAt(answer, 'list_uid')}`);
    expect(body).toMatchObject({ contact: { company: 'Acme', city: 'Bath', country: 'Afghanistan', email: 'o@x.co' } });
  }
  [known.plainList, known.list] = [
    textAt(made[0] ?? { body: {} }, 'list_uid'),
    textAt(made[4] ?? { body: {} }, 'list_uid'),
  ];
  played(
    'requests 3 contact[...] in the query',
    'requests 3 contact[...] in an urlencoded body',
    'answers 1 empty arrays',
  );
  played('requests 3 contact[...] in a multipart body', 'requests 3 contact as a JSON object', 'answers 6 contact');
  played('answers 2 1 for a create', 'answers 3 a list');
});

test('it adds a field and reads its lists', async () => {
  const added = await ask(
    'POST',
    `/lists/${known.plainList}/add-field`,
    urlencoded({ type: 'text', label: 'Town', tag: 'town' }),
  );
  expectDone(added, "List's field was created");
  const item = {
    ...{ uid: UID, name: 'Query', default_subject: 'Hello', from_email: 'news@sender.example', from_name: 'News' },
    ...{ status: expect.any(String), created_at: TIME, updated_at: TIME },
  };
  const rows = rowsOf(await ask('GET', '/lists?per_page=1000'));
  expect(rows.find(({ name }) => name === 'Query')).toEqual({ id: expect.any(Number), ...item });
  for (const row of rows) expect(row).toMatchObject({ uid: UID, name: expect.any(String) });
  const one = Object((await ask('GET', `/lists/${known.plainList}`)).body);
  expect(one.list).toMatchObject({ ...item, remind_message: null });
  expect(one.statistics).toMatchObject({ subscriber_count: 0, open_uniq_rate: 0, click_rate: 0 });
  const fields = one.list.fields.map((row: Record<string, unknown>) => [
    row['tag'],
    row['type'],
    row['visible'],
    row['required'],
  ]);
  expect(fields).toEqual([
    ...[
      ['EMAIL', 'string', '1', true],
      ['FIRST_NAME', 'text', '1', false],
    ],
    ...[
      ['LAST_NAME', 'text', '1', false],
      ['TOWN', 'text', '1', false],
    ],
  ]);
  played('answers 1 bare arrays with uid and name', 'answers 3 a field', 'answers 6 items', 'answers 6 list');
  played('answers 6 statistics', 'answers 6 fields');
});

test('its sign-up form adds people, with and without a confirmation', async () => {
  const empty = { tag: '', LAST_NAME: '' };
  const made = await ask(
    'POST',
    '/subscribers',
    urlencoded({ list_uid: known.plainList, EMAIL: 'eve+x@people.example', ...empty }),
  );
  expectDone(made, 'Subscriber was successfully created');
  Object.assign(known, { person: textAt(made, 'subscriber_uid'), personId: textAt(made, 'subscriber_id') });
  expect(made.body).toMatchObject({ subscriber_uid: UID, subscriber_id: expect.stringMatching(/^\d+$/) });
  const shown = Object((await ask('GET', `/subscribers/${known.personId}`)).body).subscriber;
  expect(shown).toMatchObject({ id: Number(known.personId), uid: known.person, LAST_NAME: '', tags: [] });
  const asked = await ask('POST', '/subscribers', { list_uid: known.list, EMAIL: 'eve+x@people.example' });
  expectDone(asked, 'Confirmation email sent to the subscriber');
  const link = /https?:\/\/[^\s"<>]+/.exec((await mailTo('eve+x@people.example')).text ?? '')?.[0];
  expect((await fetch(here(link))).status).toBe(200);
  for (const no of [1, 2])
    await ask('POST', '/subscribers', { list_uid: known.plainList, EMAIL: `p${no}@people.example` });
  played('requests 6 empty tag and LAST_NAME', 'answers 3 a subscriber', 'answers 5 both names of a subscriber');
  played('answers 5 uid and id');
});

test('it pages through its people, and names one in every way', async () => {
  const inList = `list_uid=${known.plainList}`;
  const first = rowsOf(await ask('GET', `/subscribers?${inList}&per_page=1000&page=1`));
  expect(rowsOf(await ask('GET', `/subscribers?${inList}&per_page=1000&page=0`))).toEqual(first);
  expect(first).toHaveLength(3);
  expect(first.find(({ uid }) => uid === known.person)).toMatchObject({
    ...{ id: Number(known.personId), email: 'eve+x@people.example', status: 'subscribed', FIRST_NAME: '', TOWN: '' },
  });
  expect(await allPages('/subscribers', known.token)).toHaveLength(4);
  for (const slot of [known.person, known.personId, 'eve+x@people.example', 'eve%2Bx%40people.example']) {
    const found = await raw(`GET /lists/${known.plainList}/subscribers/${slot}`, [bearer()]);
    expect(found, slot).toMatchObject({ status: 200, body: { subscriber: { uid: known.person } } });
  }
  for (const slot of ['eve+x@people.example', 'eve%2Bx%40people.example', 'eve+x%40people.example']) {
    const everywhere = await raw(`GET /subscribers/email/${slot}`, [bearer()]);
    const lists = Object(everywhere.body).subscribers.map((row: Record<string, unknown>) => row['list_uid']);
    expect(lists.toSorted(), slot).toEqual([known.plainList, known.list].toSorted());
    const one = await raw(`GET /subscribers/email/${slot}?${inList}`, [bearer()]);
    expect(one.body, slot).toMatchObject({ subscribers: [{ uid: known.person, list_uid: known.plainList }] });
  }
  played('requests 7 raw address', 'requests 7 encoded address', 'requests 7 number', 'requests 7 uid');
  played('requests 8 page=0 and page=1', 'requests 8 per_page=1000', 'requests 8 subscribers without list_uid');
  played('requests 8 pages until an empty answer: subscribers', 'requests 9 list_uid beside an address');
  played('answers 7 items', 'answers 7 by email');
});

test('an SDK puts the token and every parameter into a JSON body, on every method', async () => {
  const all = (more: object) => JSON.stringify({ api_token: known.token, ...more });
  const found = await raw(
    'GET /subscribers',
    [JSON_TYPE],
    all({ list_uid: known.plainList, per_page: '1', page: '2' }),
  );
  expect(found).toMatchObject({ status: 200, body: [{}] });
  expect(found.body).toHaveLength(1);
  const at = `/subscribers/${known.person}`;
  expectDone(await raw(`PATCH ${at}`, [JSON_TYPE], all({ FIRST_NAME: 'Eve' })), 'Subscriber was successfully updated');
  const tagged = await raw(`POST ${at}/add-tag`, [JSON_TYPE], all({ tag: 'a,b,' }));
  expectDone(tagged, 'Tag was added successfully');
  expect(tagged.body).toMatchObject({ tags: ['a', 'b'], subscriber_id: known.personId });
  const untagged = await raw(`POST ${at}/remove-tag`, [JSON_TYPE], all({ tag: 'a' }));
  expectDone(untagged, 'Tag was removed successfully');
  expect(untagged.body).toMatchObject({ tags: ['b'], subscriber_uid: known.person });
  const other = { list_uid: known.plainList, EMAIL: 'short@people.example' };
  const gone = textAt(await raw('POST /subscribers', [JSON_TYPE], all(other)), 'subscriber_uid');
  expectDone(await raw(`DELETE /subscribers/${gone}`, [JSON_TYPE], all({})), 'Deleted');
  played(
    'requests 1 all in a JSON body on GET',
    'requests 1 all in a JSON body on POST',
    'requests 6 numbers as texts',
  );
  played(
    'requests 1 all in a JSON body on PATCH',
    'requests 1 all in a JSON body on DELETE',
    'answers 2 1 for a delete',
  );
  played('answers 2 1 for a tag', 'answers 5 tags after add-tag', 'answers 5 tags after remove-tag');
});

test('its plugins send bodies that are none, or of another kind than they say', async () => {
  const [at, inList] = [`/subscribers/${known.person}`, `/lists/${known.plainList}/subscribers/${known.person}`];
  const gone = textAt(await ask('POST', '/lists', LIST_BODY), 'list_uid');
  const [json, emptyForm] = [
    [bearer(), JSON_TYPE],
    [bearer(), FORM_TYPE, 'Content-Length: 0'],
  ];
  expect((await raw('GET /lists', json)).status).toBe(200);
  expect((await raw('POST /login-token', json)).status).toBe(200);
  expectDone(await raw(`PATCH ${inList}/subscribe`, json), 'Subscriber was subscribed');
  expectDone(await raw(`DELETE /lists/${gone}`, json), 'Deleted');
  expectDone(await raw(`POST ${at}/add-tag?tag=vip`, emptyForm), 'Tag was added successfully');
  expectDone(await raw(`PATCH ${inList}/unsubscribe`, emptyForm), 'Subscriber was unsubscribed');
  expect(await raw(`PATCH ${at}`, [bearer(), FORM_TYPE], '{}')).toMatchObject({ status: 200, body: { status: 1 } });
  const named = await ask('PATCH', at, multipart({ FIRST_NAME: 'Eva' }));
  expectDone(named, 'Subscriber was successfully updated');
  expect((await ask('GET', at)).body).toMatchObject({
    subscriber: { FIRST_NAME: 'Eva', status: 'unsubscribed', tags: ['b', 'vip'] },
  });
  played('requests 2 empty JSON on GET', 'requests 2 empty JSON on POST', 'requests 2 empty JSON on PATCH');
  played('requests 2 empty JSON on DELETE', 'requests 2 empty form on POST', 'requests 2 empty form on PATCH');
  played('requests 2 {} labelled urlencoded', 'requests 2 multipart on PATCH');
});

campaignSteps(session);

test('it sends what nobody asked for, and shows the message of a failure', async () => {
  const headers = { 'X-Requested-With': 'XMLHttpRequest', 'X-Shop-Version': '1.2', Accept: 'text/html' };
  const odd = await app.rest('/lists?utm_source=x&_=123&sort[by]=name', { token: known.token, headers });
  expect(rowsOf(odd).length).toBeGreaterThan(0);
  for (const line of ['POST /lists', `PATCH /lists/${known.list}`, `DELETE /lists/${known.list}`, 'GET /lists'])
    expect(await raw(line, [bearer(), JSON_TYPE], '"hello"'), line).toMatchObject({
      ...{ status: 422, body: { message: expect.any(String) } },
    });
  const failures = [
    await app.rest('/lists', { token: 'a-token-that-was-revoked' }),
    await ask('GET', '/customers'),
    await ask('GET', '/lists/0000000000000'),
    await ask('POST', '/lists', {}),
    await ask('POST', `/campaigns/${known.campaign}/pause`),
    await ask('POST', '/subscribers', { list_uid: known.plainList, EMAIL: 'not an address' }),
  ];
  expect(failures.map(({ status }) => status)).toEqual([401, 403, 404, 422, 422, 422]);
  for (const { body } of failures) expect(body).toMatchObject({ message: expect.stringMatching(/\w{3}/) });
  played(
    'requests 4 a bare string',
    'requests 9 unknown parameters',
    'requests 9 unknown headers',
    'answers 14 message',
  );
});

test('it clears up', async () => {
  const places = [`/subscribers/${known.person}`, `/campaigns/${known.campaign}`, `/lists/${known.plainList}`];
  for (const place of places) {
    expectDone(await ask('DELETE', place), 'Deleted');
    expect((await ask('GET', place)).status, place).toBe(404);
  }
});

test('every numbered line of the wire facts was played', () => {
  expect(session.left()).toEqual([]);
  for (const number of [...numbers('requests', 12), ...numbers('answers', 14)])
    expect(session.stepsOf(number), number).not.toEqual([]);
});

function numbers(part: string, last: number): string[] {
  return Array.from({ length: last }, (_, index) => `${part} ${index + 1}`);
}
