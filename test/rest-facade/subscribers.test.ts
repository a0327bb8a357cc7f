/** Subscribers over REST: every path and alias, both dialects, as clients send it; and hostile input. */
import { describe, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { startSubscriberWorld } from '../support/subscriber-world.ts';

const { app, owner, stranger, list, as, newList, address, add, twin } = await startSubscriberWorld();
const get = async (path: string) => (await app.rest(path, as())).body;

describe('adding', () => {
  test('answers 201, the uid under both names, and GraphQL sees the same', async () => {
    const body = {
      list_uid: list,
      EMAIL: 'Ann@x.co',
      FIRST_NAME: 'Ann',
      LAST_NAME: '',
      UNKNOWN_FIELD: 'x',
      tag: 'vip, Press,',
    };
    const answer = await app.rest('/subscribers', as('POST', body));
    expect(answer).toMatchObject({
      status: 201,
      body: {
        status: 1,
        message: 'Subscriber was successfully created',
        subscriber_uid: expect.stringMatching(/^[0-9a-f]{13}$/),
        subscriber_id: expect.stringMatching(/^\d+$/),
      },
    });
    const { subscriber_uid: uid } = answer.body as { subscriber_uid: string };
    expect(await twin(uid)).toEqual({
      email: 'Ann@x.co',
      status: 'subscribed',
      tags: ['vip', 'Press'],
      fieldValues: { FIRST_NAME: 'Ann', LAST_NAME: null },
      consentEvents: [{ status: 'subscribed', source: 'api' }],
    });
  });

  test('takes query, form, multipart and JSON, and all aliases', async () => {
    const form = new FormData();
    form.set('EMAIL', address());
    form.set('FIRST_NAME', 'Zoë');
    const answers = [
      await app.rest(`/subscribers?list_uid=${list}&EMAIL=${encodeURIComponent(address())}`, as('POST')),
      await app.rest(
        '/subscribers',
        as('POST', new URLSearchParams({ mail_list_uid: list, EMAIL: address(), tag: '' })),
      ),
      await app.rest(`/lists/${list}/subscribers`, as('POST', form)),
      await app.rest(`/lists/${list}/subscribers/store`, as('POST', { EMAIL: address() })),
      await app.rest('/subscribers', {
        method: 'POST',
        token: null,
        body: { api_token: owner.token, list_uid: list, EMAIL: address() },
      }),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 201, body: { status: 1 } });
  });

  test('starts automations unless it says no', async () => {
    for (const [given, what] of [
      [{}, {}],
      [{ run_automations: '1' }, {}],
      [{ run_automations: '0' }, { starts_flows: false }],
    ] as const) {
      const { uid } = await add(given);
      const page = await app.rest(`/subscribers/${uid}/timeline?kind=added`, { token: owner.token });
      expect(page.body).toMatchObject({ timeline: [{ kind: 'added', what }] });
      expect(Object(page.body).timeline[0].what).toEqual(what);
    }
    const wrong = await app.rest(
      '/subscribers',
      as('POST', { list_uid: list, EMAIL: address(), run_automations: 'x' }),
    );
    expect(wrong).toMatchObject({ status: 422, body: { errors: { run_automations: [expect.any(String)] } } });
  });

  test('takes values of fields whose tag is a number', async () => {
    const list_uid = await newList();
    await app.rest(`/lists/${list_uid}/add-field`, as('POST', { type: 'text', label: 'Year', tag: '2024' }));
    const EMAIL = address();
    await app.rest('/subscribers', as('POST', { list_uid, EMAIL, 2024: 'yes' }));
    expect(await get(`/subscribers/${EMAIL}`)).toMatchObject({ subscriber: { 2024: 'yes' } });
  });

  test('a duplicate is a 422, in the classic dialect a 403 with the bare map', async () => {
    const EMAIL = address();
    await add({ EMAIL });
    const body = { list_uid: list, EMAIL: EMAIL.toUpperCase() };
    expect(await app.rest('/subscribers', as('POST', body))).toMatchObject({
      status: 422,
      body: { message: 'The given data was invalid.', errors: { EMAIL: ['The email has already been taken.'] } },
    });
    const classic = await app.rest('/subscribers', { ...as('POST', body), headers: { 'X-Api-Dialect': 'classic' } });
    expect(classic.status).toBe(403);
    expect(classic.body).toEqual({ EMAIL: ['The email has already been taken.'] });
    const created = await app.rest('/subscribers', {
      ...as('POST', { list_uid: list, EMAIL: address() }),
      headers: { 'X-Api-Dialect': 'classic' },
    });
    expect(created.status).toBe(200);
  });

  test('keeps the network address of the person, and checks it', async () => {
    const given = { '192.0.2.7': '192.0.2.7', ' 2001:db8::7 ': '2001:db8::7', '': null };
    for (const [ip_address, stored] of Object.entries(given)) {
      const { uid } = await add({ ip_address });
      expect(await get(`/subscribers/${uid}`)).toMatchObject({ subscriber: { ip_address: stored } });
      expect(await twin(uid, 'ipAddress consentEvents { ipAddress }')).toEqual({
        ipAddress: stored,
        // Without it the address of the program that called.
        consentEvents: [{ ipAddress: stored ?? '127.0.0.1' }],
      });
    }
    for (const ip_address of ['192.0.2.300', '192.0.2', 'fe80::1%eth0', '192.0.2.0/24', 'somewhere', 5])
      expect(
        await app.rest('/subscribers', as('POST', { list_uid: list, EMAIL: address(), ip_address })),
      ).toMatchObject({
        status: 422,
        body: { errors: { ip_address: ['The ip address must be an IPv4 or IPv6 address.'] } },
      });
  });

  test('says that a confirmation mail went out', async () => {
    const double = await newList({ subscribe_confirmation: 1 });
    const answer = await app.rest('/subscribers', as('POST', { list_uid: double, EMAIL: address() }));
    expect(answer).toMatchObject({ status: 201, body: { message: 'Confirmation email sent to the subscriber' } });
  });

  test('names what is missing or wrong', async () => {
    expect(await app.rest('/subscribers', as('POST', {}))).toMatchObject({
      status: 422,
      body: { errors: { list_uid: ['The list uid field is required.'] } },
    });
    expect(await app.rest('/subscribers', as('POST', { list_uid: list, EMAIL: 'x', tag: 'a\nb' }))).toMatchObject({
      status: 422,
      body: { errors: { EMAIL: expect.anything(), tag: expect.anything() } },
    });
    expect((await app.rest('/subscribers', as('POST', { list_uid: '0123456789abc', EMAIL: address() }))).status).toBe(
      404,
    );
    expect(
      (await app.rest('/subscribers', as('POST', { list_uid: list, EMAIL: address() }, stranger.token))).status,
    ).toBe(403);
  });
});

describe('reading', () => {
  test('one, by uid, id and address in any spelling', async () => {
    const { uid, id } = await add({ EMAIL: 'plus+tag@x.co', FIRST_NAME: 'P', tag: 'a' });
    const subscriber = {
      id: Number(id),
      uid,
      list_uid: list,
      email: 'plus+tag@x.co',
      status: 'subscribed',
      source: 'api',
      ip_address: null,
      FIRST_NAME: 'P',
      LAST_NAME: '',
      tags: ['a'],
    };
    for (const slot of [uid, id, 'plus+tag@x.co', 'plus%2Btag%40x.co', 'PLUS+TAG@X.CO']) {
      expect(await get(`/subscribers/${slot}`)).toMatchObject({ subscriber });
      expect(await get(`/lists/${list}/subscribers/${slot}`)).toMatchObject({ subscriber });
    }
    expect(await get('/subscribers/email/plus%2Btag%40x.co')).toMatchObject({ subscribers: [subscriber] });
    expect(await get('/subscribers/email/nobody@x.co')).toEqual({ subscribers: [] });
  });

  test('an address on several lists needs the list', async () => {
    const other = await newList();
    const EMAIL = address();
    await add({ EMAIL });
    await add({ EMAIL, list_uid: other });
    expect(await app.rest(`/subscribers/${EMAIL}`, as())).toMatchObject({
      status: 422,
      body: { errors: { list_uid: expect.anything() } },
    });
    expect(await get(`/subscribers/${EMAIL}?list_uid=${other}`)).toMatchObject({ subscriber: { list_uid: other } });
    expect(await get(`/subscribers/email/${EMAIL}`)).toMatchObject({
      subscribers: [{ list_uid: list }, { list_uid: other }],
    });
    expect(await get(`/subscribers/email/${EMAIL}?list_uid=${other}`)).toMatchObject({
      subscribers: [{ list_uid: other }],
    });
  });

  test('shows whether mail can arrive (D54)', async () => {
    const [bounce, complaint, manual, everywhere] = [address(), address(), address(), address()];
    const both = address();
    for (const EMAIL of [bounce, complaint, manual, everywhere, both]) await add({ EMAIL });
    const suppress = (body: object, token = owner.token) => app.rest('/suppressions', as('POST', body, token));
    const shown = async (email: string) => {
      const { subscriber } = (await get(`/subscribers/${email}`)) as { subscriber: Record<string, unknown> };
      const { deliverability } = await twin(String(subscriber['uid']), 'deliverability');
      expect(deliverability).toBe(subscriber['deliverability']);
      expect(await get(`/subscribers/email/${email}`)).toMatchObject({ subscribers: [{ deliverability }] });
      return deliverability;
    };
    expect(await shown(bounce)).toBe('ok');
    // Another customer's suppressions say nothing.
    await suppress({ email: bounce, reason: 'complaint' }, stranger.token);
    expect(await shown(bounce)).toBe('ok');
    await suppress({ email: [bounce.toUpperCase(), both].join(','), reason: 'bounce' });
    await suppress({ email: complaint, reason: 'complaint' });
    await suppress({ email: manual });
    for (const email of [everywhere, both])
      await app.rest('/suppressions', { method: 'POST', body: { email, reason: 'bounce', everywhere: 1 } });
    expect(await Promise.all([bounce, complaint, manual].map(shown))).toEqual(['bounced', 'complained', 'suppressed']);
    // The installation does not say why; the customer's own reason is shown.
    expect([await shown(everywhere), await shown(both)]).toEqual(['suppressed', 'bounced']);
    await app.rest(`/suppressions/${bounce}`, as('DELETE'));
    expect(await shown(bounce)).toBe('ok');
  });

  test('an index of one list and of all, by activity, in both dialects', async () => {
    const tenant = await app.newTenant();
    const [one, two] = [await newList({}, tenant.token), await newList({}, tenant.token)];
    const read = (path: string, headers = {}) => app.rest(path, { token: tenant.token, headers });
    for (const [uid, n] of [
      [one, 3],
      [two, 2],
    ] as const) {
      for (let i = 0; i < n; i++)
        await app.rest(
          '/subscribers',
          as('POST', { list_uid: uid, EMAIL: `${i}@x.co`, FIRST_NAME: `N${i}` }, tenant.token),
        );
    }
    expect((await read(`/subscribers?list_uid=${one}&per_page=2&page=2`)).body).toMatchObject({
      data: [{ email: '2@x.co', status: 'subscribed', FIRST_NAME: 'N2', LAST_NAME: '' }],
      meta: { total: 3, last_page: 2, from: 3, to: 3 },
    });
    expect((await read('/subscribers')).body).toMatchObject({ data: { length: 5 }, meta: { total: 5, per_page: 25 } });
    expect((await read(`/lists/${two}/subscribers`, { 'X-Api-Dialect': 'classic' })).body).toMatchObject([
      { email: '0@x.co' },
      { email: '1@x.co' },
    ]);
    await app.ctx.db.execute(sql`
      WITH opened AS (INSERT INTO hot.subscriber_activity SELECT customer_id, list_id, id, now(), NULL FROM subscriber
                       WHERE customer_id = ${tenant.customerId} AND email = '1@x.co' RETURNING list_id)
      UPDATE hot.list_counter c SET openers = 1 FROM opened o WHERE o.list_id = c.list_id`);
    expect((await read(`/subscribers?list_uid=${one}&open=yes`)).body).toMatchObject({
      data: [{ email: '1@x.co' }],
      meta: { total: 1 },
    });
    expect((await read(`/subscribers?list_uid=${one}&open=no`)).body).toMatchObject({
      data: [{ email: '0@x.co' }, { email: '2@x.co' }],
      meta: { total: 2 },
    });
    expect((await read(`/subscribers?list_uid=${one}&click=yes`)).body).toMatchObject({ data: [], meta: { total: 0 } });
    expect((await read('/subscribers?page=4', { 'X-Api-Dialect': 'classic' })).body).toEqual([]);
    expect((await read('/subscribers?open=perhaps')).status).toBe(422);
  });
});

describe('changing', () => {
  test('fields, tags, status and address by PATCH, by both paths', async () => {
    const { uid, id } = await add({ FIRST_NAME: 'A', tag: 'one' });
    const patched = await app.rest(
      `/subscribers/${id}`,
      as('PATCH', new URLSearchParams({ FIRST_NAME: '', LAST_NAME: 'B', tag: 'two', status: 'unconfirmed' })),
    );
    expect(patched).toMatchObject({
      status: 200,
      body: { status: 1, message: 'Subscriber was successfully updated', subscriber_uid: uid, subscriber_id: id },
    });
    expect(await twin(uid)).toMatchObject({
      status: 'unconfirmed',
      tags: ['one', 'two'],
      fieldValues: { FIRST_NAME: null, LAST_NAME: 'B' },
    });
    const EMAIL = address();
    expect((await app.rest(`/lists/${list}/subscribers/${uid}/update`, as('PATCH', { EMAIL }))).status).toBe(200);
    expect(await twin(uid)).toMatchObject({ email: EMAIL });
    expect(await app.rest(`/subscribers/${uid}`, as('PATCH', { status: 'pending' }))).toMatchObject({
      status: 422,
      body: { errors: { status: expect.anything() } },
    });
  });

  test('tags are added and removed', async () => {
    const { uid } = await add();
    const tagged = await app.rest(`/subscribers/${uid}/add-tag`, as('POST', { tag: 'a,b,' }));
    expect(tagged).toMatchObject({
      status: 200,
      body: { status: 1, message: 'Tag was added successfully', subscriber_uid: uid, tags: ['a', 'b'] },
    });
    const untagged = await app.rest(`/subscribers/${uid}/remove-tag?tag=A`, as('POST'));
    expect(untagged).toMatchObject({
      status: 200,
      body: { status: 1, message: 'Tag was removed successfully', tags: ['b'] },
    });
    expect(await app.rest(`/subscribers/${uid}/add-tag`, as('POST', { tag: ' , ' }))).toMatchObject({
      status: 422,
      body: { errors: { tag: expect.anything() } },
    });
  });

  test('subscribe and unsubscribe, by every path', async () => {
    const EMAIL = address();
    const { uid, id } = await add({ EMAIL });
    const status = async () => (await twin(uid))['status'];
    for (const path of [`/subscribers/${id}/subscribe`, `/lists/${list}/subscribers/${uid}/subscribe`]) {
      expect(await app.rest(path, as('PATCH'))).toMatchObject({
        status: 200,
        body: { status: 1, message: 'Subscriber was subscribed', subscriber_uid: uid },
      });
      expect(await status()).toBe('pending');
    }
    const unsubscribes = [
      `/subscribers/${EMAIL}/unsubscribe`,
      `/lists/${list}/subscribers/${id}/unsubscribe`,
      `/subscribers/email/${EMAIL}/unsubscribe`,
      `/lists/${list}/subscribers/email/${EMAIL}/unsubscribe`,
    ];
    for (const path of unsubscribes) {
      await app.rest(`/subscribers/${id}`, as('PATCH', { status: 'subscribed' }));
      expect(await app.rest(path, as('PATCH', {}))).toMatchObject({
        status: 200,
        body: { status: 1, message: 'Subscriber was unsubscribed', subscriber_uid: uid },
      });
      expect(await status()).toBe('unsubscribed');
    }
  });

  test('delete erases', async () => {
    const [first, second] = [await add(), await add()];
    expect(await app.rest(`/subscribers/${first.uid}`, as('DELETE', { api_token: owner.token }))).toMatchObject({
      status: 200,
      body: { status: 1, message: 'Deleted', subscriber_uid: first.uid },
    });
    expect((await app.rest(`/lists/${list}/subscribers/${second.id}/delete`, as('DELETE'))).status).toBe(200);
    for (const { uid } of [first, second]) expect((await app.rest(`/subscribers/${uid}`, as())).status).toBe(404);
  });
});

test('ids are numbers where a person is read, and texts in the answers of acts (wire facts, answers 5 and 7)', async () => {
  const { uid, id } = await add();
  expect(id).toMatch(/^\d+$/);
  const { email } = await twin(uid, 'email');
  const number = { id: Number(id), uid };
  expect(await get(`/subscribers/${uid}`)).toMatchObject({ subscriber: number });
  expect(await get(`/subscribers/email/${String(email)}`)).toMatchObject({ subscribers: [number] });
  const index = (await get(`/subscribers?list_uid=${list}&per_page=1000`)) as { data: { uid: string }[] };
  expect(index.data.find((person) => person.uid === uid)).toMatchObject(number);
  const acts: [string, string, object?][] = [
    ['PATCH', '', { FIRST_NAME: 'Ann' }],
    ['POST', '/add-tag', { tag: 'a' }],
    ['POST', '/remove-tag', { tag: 'a' }],
    ['PATCH', '/subscribe'],
    ['PATCH', '/unsubscribe'],
    ['DELETE', ''],
  ];
  for (const [method, path, body] of acts)
    expect(await app.rest(`/subscribers/${uid}${path}`, as(method, body))).toMatchObject({
      status: 200,
      body: { subscriber_uid: uid, subscriber_id: id },
    });
});
