/**
 * What existing clients send (wire facts, requests 1 to 12): every numbered fact is played over real HTTP, in the dialect
 * of those clients. Where a client does what no library does, the bytes are written by hand.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { newUid } from '../../src/lib/ids.ts';
import { rawRequest } from '../support/raw-request.ts';
import { startRestApp, type RestRequest } from '../support/rest-app.ts';

const app = await startRestApp();
const { token } = await app.newTenant({ restDialect: 'classic' });
const bearer = `Authorization: Bearer ${token}`;
const JSON_TYPE = 'Content-Type: application/json';
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';

const contact = {
  ...{ company: 'Acme', address_1: '1 High Street', city: 'Springfield', state: 'CA', zip: '12345', phone: '1' },
  ...{ country_id: 1, email: 'office@acme.example' },
};
const list = { name: 'Friends', from_email: 'news@acme.example', from_name: 'Acme', default_subject: 'News', contact };

const ask = (path: string, request: RestRequest = {}) => app.rest(path, { token, ...request });
const raw = (line: string, headers: readonly string[] = [], body = '') =>
  rawRequest(app.baseUrl, { line, headers, body });

async function newList(more: object = {}): Promise<string> {
  const { body } = await ask('/lists', { method: 'POST', body: { ...list, ...more } });
  return textAt(body, 'list_uid');
}

async function newPerson(listUid: string, email = `${newUid()}@person.example`) {
  const { body } = await ask('/subscribers', { method: 'POST', body: { list_uid: listUid, EMAIL: email } });
  return { email, uid: textAt(body, 'subscriber_uid'), id: textAt(body, 'subscriber_id') };
}

function textAt(body: unknown, name: string): string {
  return String(Object(body)[name]);
}

let listUid = '';
beforeAll(async () => {
  listUid = await newList();
});

describe('1 the token comes', () => {
  test('as a bearer, in the query and in every kind of body, or twice', async () => {
    const multipart = new FormData();
    multipart.append('api_token', token);
    const ways: [string, RestRequest][] = [
      ['/me', { token }],
      [`/me?api_token=${token}`, {}],
      [`/me?api_token=${token}`, { token }],
    ];
    for (const [path, request] of ways)
      expect((await app.rest(path, { token: null, ...request })).status, path).toBe(200);
    for (const body of [{ api_token: token }, new URLSearchParams({ api_token: token }), multipart])
      expect(
        await app.rest(`/subscribers/nobody@person.example/add-tag`, { method: 'POST', token: null, body }),
      ).toMatchObject({ status: 404 });
  });

  test('with every parameter in a JSON body, on every method, GET and DELETE included, without Accept', async () => {
    const gone = await newList();
    const person = await newPerson(listUid);
    const all = JSON.stringify({ api_token: token, list_uid: listUid, per_page: 1 });
    expect(await raw('GET /api/v1/subscribers', [JSON_TYPE], all)).toMatchObject({ status: 200, body: [{}] });
    const own = JSON.stringify({ api_token: token });
    expect(await raw(`GET /api/v1/lists/${gone}`, [JSON_TYPE], own)).toMatchObject({
      status: 200,
      body: { list: { uid: gone } },
    });
    const named = JSON.stringify({ api_token: token, FIRST_NAME: 'Ann' });
    expect((await raw(`PATCH /api/v1/subscribers/${person.uid}`, [JSON_TYPE], named)).status).toBe(200);
    const tagged = JSON.stringify({ api_token: token, tag: 'vip' });
    expect((await raw(`POST /api/v1/subscribers/${person.uid}/add-tag`, [JSON_TYPE], tagged)).status).toBe(200);
    expect((await raw(`DELETE /api/v1/lists/${gone}`, [JSON_TYPE], own)).status).toBe(200);
    expect((await raw(`GET /api/v1/lists/${gone}`, [JSON_TYPE], own)).status).toBe(404);
  });
});

describe('2 bodies that are none', () => {
  test('JSON with an empty body, on GET, POST, PATCH and DELETE', async () => {
    const gone = await newList();
    const person = await newPerson(listUid);
    for (const length of [[], ['Content-Length: 0']]) {
      const headers = [bearer, JSON_TYPE, ...length];
      expect((await raw('GET /api/v1/lists', headers)).status).toBe(200);
      expect((await raw('POST /api/v1/login-token', headers)).status).toBe(200);
      expect((await raw(`PATCH /api/v1/subscribers/${person.uid}`, headers)).status).toBe(200);
    }
    expect((await raw(`DELETE /api/v1/lists/${gone}`, [bearer, JSON_TYPE, 'Content-Length: 0'])).status).toBe(200);
  });

  test('an urlencoded body of length 0, on POST and PATCH', async () => {
    const { uid } = await newPerson(listUid);
    const headers = [bearer, FORM_TYPE, 'Content-Length: 0'];
    expect((await raw(`POST /api/v1/subscribers/${uid}/add-tag?tag=vip`, headers)).status).toBe(200);
    expect((await raw(`PATCH /api/v1/lists/${listUid}/subscribers/${uid}/unsubscribe`, headers)).status).toBe(200);
  });

  test('{} that calls itself urlencoded', async () => {
    const { uid } = await newPerson(listUid);
    expect((await raw(`PATCH /api/v1/subscribers/${uid}`, [bearer, FORM_TYPE], '{}')).status).toBe(200);
  });

  test('multipart on PATCH', async () => {
    const { uid } = await newPerson(listUid);
    const form = new FormData();
    form.append('FIRST_NAME', 'Ann');
    expect((await ask(`/subscribers/${uid}`, { method: 'PATCH', body: form })).status).toBe(200);
    expect((await ask(`/subscribers/${uid}`)).body).toMatchObject({ subscriber: { FIRST_NAME: 'Ann' } });
  });
});

describe('3 nesting', () => {
  const { contact: _contact, ...plain } = list;
  const bracketed: [string, string][] = [
    ...Object.entries(plain),
    ...Object.entries(contact).map(([name, value]): [string, string] => [`contact[${name}]`, String(value)]),
  ];
  const multipart = new FormData();
  for (const [name, value] of bracketed) multipart.append(name, value);
  const ways: [string, string, RestRequest][] = [
    ['the query', `/lists?${new URLSearchParams(bracketed)}`, {}],
    ['an urlencoded body', '/lists', { body: new URLSearchParams(bracketed) }],
    ['a multipart body', '/lists', { body: multipart }],
    ['a JSON object', '/lists', { body: list }],
    ['JSON keys with brackets', '/lists', { body: Object.fromEntries(bracketed) }],
    ['JSON text of a form', '/lists', { body: new URLSearchParams({ ...plain, contact: JSON.stringify(contact) }) }],
  ];

  test.each(ways)('contact in %s', async (_name, path, request) => {
    const made = await ask(path, { method: 'POST', ...request });
    expect(made, made.text).toMatchObject({ status: 200 });
    expect((await ask(`/lists/${textAt(made.body, 'list_uid')}`)).body).toMatchObject({
      contact: { company: 'Acme', city: 'Springfield', email: 'office@acme.example' },
    });
  });

  test('trees of a campaign as JSON text of a form', async () => {
    const words = { name: 'N', subject: 'S', from_email: 'n@s.example', from_name: 'S', html: '<p>Hi</p>' };
    const make = (more: Record<string, string>) =>
      ask('/campaigns', { method: 'POST', body: new URLSearchParams({ list_uid: listUid, ...words, ...more }) });
    expect(await make({ quiet_hours: '{"from": "21:00", "to": "08:00"}', sending_servers: '[]' })).toMatchObject({
      status: 200,
      body: { campaign: { quiet_hours: { from: '21:00', to: '08:00' }, sending_servers: [] } },
    });
    expect((await make({ sending_servers: '[{"uid": "0000000000000", "weight": 2}]' })).status).toBe(404);
    for (const wrong of ['{"from": "21:00"', '[1]', '{"from":'.repeat(20) + '1' + '}'.repeat(20)])
      expect(await make({ quiet_hours: wrong })).toMatchObject({
        status: 422,
        body: { errors: { quiet_hours: [expect.any(String)] } },
      });
  });

  test('options of a plan as JSON keys with brackets', async () => {
    const plan = { name: 'Small', currency_code: 'USD', frequency_amount: '1', frequency_unit: 'month', price: '0.00' };
    const body = { ...plan, color: 'green', 'options[email_max]': '10000', 'options[list_max]': '-1' };
    const made = await app.rest('/plans', { method: 'POST', body });
    expect(made, made.text).toMatchObject({ status: 201 });
    const shown = await app.rest(`/plans/${textAt(made.body, 'plan_uid')}`);
    expect(shown.body).toMatchObject({ plan: { options: { email_max: '10000', list_max: '-1' } } });
  });
});

test.each(['POST /lists', 'POST /subscribers', 'PATCH /lists/x', 'DELETE /lists/x', 'GET /lists'])(
  '4 a JSON body that is a bare string is a 422: %s',
  async (place) => {
    const [method, path] = place.split(' ');
    const { status, body } = await raw(`${method} /api/v1${path}`, [bearer, JSON_TYPE], '"hello"');
    expect({ status, body }).toEqual({
      status: 422,
      body: { message: expect.any(String), errors: { body: [expect.any(String)] } },
    });
  },
);

test('5 a whole HTML document in the query, up to 64 KiB of request line', async () => {
  const start = `POST /api/v1/campaigns?list_uid=${listUid}&name=N&subject=S&from_name=F&from_email=a%40acme.example&html=`;
  const paragraph = encodeURIComponent('<p>Hello {EMAIL} & friends, 50 % off: "now" – ä</p>\n');
  const room = 64 * 1024 - start.length - ' HTTP/1.1'.length;
  const filled = paragraph.repeat(Math.floor(room / paragraph.length));
  const html = filled + 'x'.repeat(room - filled.length);
  const line = start + html;
  expect(`${line} HTTP/1.1`.length).toBe(64 * 1024);
  const { status, body } = await raw(line, [bearer]);
  expect(status).toBe(200);
  expect(Object(body).campaign.html).toBe(decodeURIComponent(html));
});

describe('6 spellings', () => {
  test.each([
    [true, [1, '1', true, 'true', 'yes', 'on']],
    [false, [0, '0', false, 'false', 'no', 'off']],
  ])('flags that mean %s', async (meant, spellings) => {
    for (const track_open of spellings) {
      const { body } = await ask('/campaigns', { method: 'POST', body: { ...campaign(), track_open } });
      expect(Object(body).campaign, String(track_open)).toMatchObject({ track_open: meant });
    }
  });

  test('numbers as texts', async () => {
    await newPerson(listUid);
    await newPerson(listUid);
    expect((await ask(`/subscribers?list_uid=${listUid}&per_page=1&page=2`)).body).toHaveLength(1);
    const made = await ask('/lists', { method: 'POST', body: { ...list, contact: { ...contact, country_id: '2' } } });
    expect(made.status).toBe(200);
  });

  test('empty values', async () => {
    const body = new URLSearchParams({
      list_uid: listUid,
      EMAIL: `${newUid()}@person.example`,
      tag: '',
      LAST_NAME: '',
    });
    const made = await ask('/subscribers', { method: 'POST', body });
    expect(made.status).toBe(200);
    const shown = await ask(`/subscribers/${textAt(made.body, 'subscriber_uid')}`);
    expect(shown.body).toMatchObject({ subscriber: { LAST_NAME: '', tags: [] } });
  });
});

test('7 a subscriber is named by number, uid or address, raw or encoded', async () => {
  const name = newUid();
  const person = await newPerson(listUid, `${name}+tag@person.example`);
  const slots = [
    ...[person.id, person.uid, `${name}+tag@person.example`, `${name}%2Btag%40person.example`],
    `${name}+tag%40person.example`,
  ];
  for (const slot of slots) {
    const { status, body } = await raw(`GET /api/v1/subscribers/${slot}`, [bearer]);
    expect({ status, body }, slot).toMatchObject({ status: 200, body: { subscriber: { uid: person.uid } } });
    const unsubscribed = await raw(`PATCH /api/v1/lists/${listUid}/subscribers/${slot}/unsubscribe`, [bearer]);
    expect(unsubscribed.status, slot).toBe(200);
  }
  for (const slot of slots.slice(2)) {
    expect(await raw(`GET /api/v1/subscribers/email/${slot}`, [bearer]), slot).toMatchObject({
      status: 200,
      body: { subscribers: [{ uid: person.uid }] },
    });
  }
});

describe('8 pages', () => {
  test('page 0 is page 1, and 1000 fit on one', async () => {
    const own = await newList();
    for (let no = 0; no < 3; no++) await newPerson(own);
    const first = await ask(`/subscribers?list_uid=${own}&per_page=1000&page=1`);
    expect(first.body).toHaveLength(3);
    expect((await ask(`/subscribers?list_uid=${own}&per_page=1000&page=0`)).body).toEqual(first.body);
  });

  test('without a list: everybody of the caller', async () => {
    const [one, other] = [await newPerson(await newList()), await newPerson(await newList())];
    const { body } = await ask('/subscribers?per_page=1000');
    expect(body).toEqual(expect.arrayContaining([one, other].map(({ uid }) => expect.objectContaining({ uid }))));
  });

  test.each(['/lists', '/campaigns', '/subscribers', '/sending_servers', '/plans', '/customers', '/subscriptions'])(
    '%s ends with an empty answer',
    async (path) => {
      const classic = { 'X-Api-Dialect': 'classic' };
      const seen = new Set<string>();
      for (let page = 1; ; page++) {
        const { status, body } = await app.rest(`${path}?page=${page}&per_page=10`, { headers: classic });
        expect([status, Array.isArray(body)]).toEqual([200, true]);
        const uids = [Object(body)].flat().map(({ uid }) => String(uid));
        if (uids.length === 0) break;
        for (const uid of uids) expect(seen.has(uid), 'a page came twice').toBe(false);
        for (const uid of uids) seen.add(uid);
      }
    },
  );
});

test('9 what is unknown is ignored; an address may be looked for on one list', async () => {
  const { email } = await newPerson(listUid);
  const odd = { 'X-Requested-With': 'XMLHttpRequest', 'X-Whatever': '1', Accept: 'text/html' };
  expect((await ask('/lists?utm_source=x&_=123&sort[by]=name', { headers: odd })).status).toBe(200);
  expect((await ask(`/subscribers/email/${email}?list_uid=${listUid}`)).body).toMatchObject({
    subscribers: [{ email }],
  });
  const elsewhere = await newList();
  expect((await ask(`/subscribers/email/${email}?list_uid=${elsewhere}`)).body).toEqual({ subscribers: [] });
});

test.each(['list_uid', 'mail_list_uid'])('10 a campaign with everything, its list named %s', async (name) => {
  const options = { track_open: '1', track_click: 'false', sign_dkim: 1, skip_failed_messages: 'no' };
  const { list_uid, ...rest } = campaign();
  const body = { ...rest, ...options, [name]: list_uid, plain: 'Hello', reply_to: 're@acme.example' };
  const made = await ask('/campaigns', { method: 'POST', body: { ...body, run_at: '2030-01-31 08:00:00' } });
  expect(made, made.text).toMatchObject({ status: 200 });
  expect(Object(made.body).campaign).toMatchObject({
    ...{ list_uid, plain: 'Hello', reply_to: 're@acme.example', delivery_at: '2030-01-31 08:00:00' },
    ...{ track_open: true, track_click: false, sign_dkim: true, skip_failed_messages: false },
  });
});

describe('11 more than is documented', () => {
  test('customers come with fields that mean nothing here', async () => {
    const customer = await newCustomer();
    expect(customer, customer.text).toMatchObject({ status: 201 });
  });

  test('a plan is assigned with flags of billing', async () => {
    const uid = textAt((await newCustomer()).body, 'customer_uid');
    const plan = { name: 'Gift', currency_id: 1, frequency_amount: 1, frequency_unit: 'month', price: 0, color: 'red' };
    const planUid = textAt((await app.rest('/plans', { method: 'POST', body: plan })).body, 'plan_uid');
    const assigned = await app.rest(`/customers/${uid}/assign-plan/${planUid}`, {
      method: 'POST',
      body: { disable_billing: true, gateway: 'direct' },
    });
    expect(assigned, assigned.text).toMatchObject({ status: 200, body: { status: 1 } });
  });

  test('files are a JSON text', async () => {
    const files = JSON.stringify([{ url: 'http://127.0.0.1:9/missing.png', subdirectory: 'images' }]);
    for (const body of [{ files }, new URLSearchParams({ files })]) {
      const answer = await ask('/file/upload', { method: 'POST', body });
      // None was stored.
      expect(answer, answer.text).toMatchObject({ status: 422, body: [{ status: 0 }] });
    }
  });

  function newCustomer() {
    return app.rest('/customers', {
      method: 'POST',
      body: {
        ...{ email: `${newUid()}@customer.example`, first_name: 'Ann', last_name: 'Smith', timezone: 'Europe/Berlin' },
        ...{ language_id: 1, password: `long ${newUid()}`, color_scheme: 'blue', 'text-direction': 'ltr' },
      },
    });
  }
});

test.each(['tracking', 'open', 'click', 'bounce', 'feedback', 'unsubscribe'])(
  '12 the %s log comes as CSV or JSON',
  async (log) => {
    const made = await ask('/campaigns', { method: 'POST', body: campaign() });
    const path = `/campaigns/${textAt(made.body, 'campaign_uid')}/${log}-log/download`;
    for (const asked of ['', '?type=csv']) {
      const csv = await ask(path + asked);
      expect([csv.status, csv.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/csv')]);
      expect(csv.text).toMatch(/^time,campaign_uid,subscriber_uid,email,/);
    }
    const json = await ask(`${path}?type=json`);
    expect([json.status, json.body]).toEqual([200, []]);
  },
);

function campaign() {
  return {
    ...{ list_uid: listUid, name: 'C', subject: 'S', from_name: 'Acme', from_email: 'news@acme.example' },
    html: '<p>Hello</p>',
  };
}
