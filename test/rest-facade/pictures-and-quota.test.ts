/** Languages, pictures and the quota of customers over REST, with twins in GraphQL (D61, specification 4.7). */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const DIALECTS = ['standard', 'classic'] as const;

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function newCustomer(hasPlan = true) {
  const tenant = await app.newTenant({ hasPlan });
  const [row] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`,
  );
  return { ...tenant, uid: row?.uid ?? '' };
}

const formOf = (bytes: Uint8Array, name: string, fields: Record<string, string> = {}) => {
  const form = new FormData();
  form.append('image', new Blob([new Uint8Array(bytes)]), name);
  for (const [key, value] of Object.entries(fields)) form.append(key, value);
  return form;
};

async function graphql(query: string, variables: object, token = app.adminToken) {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const body = JSON.stringify({ query, variables });
  const response = await fetch(`${app.baseUrl}/graphql`, { method: 'POST', headers, body });
  return (await response.json()).data as Record<string, unknown>;
}

const UPDATE_CUSTOMER = `mutation ($input: UpdateCustomerInput!) { result: updateCustomer(input: $input) {
  ... on Customer { image languageId contact { company city countryId country { code } } } ... on ValidationError { fields { field messages } } ... on WrongStateError { code } } }`;
const UPDATE_PROFILE = `mutation ($input: UpdateProfileInput!) { result: updateProfile(input: $input) {
  ... on User { image } ... on ValidationError { fields { field } } } }`;

async function upload(bytes: Uint8Array, name: string, token = app.adminToken) {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(bytes)]), name);
  const answer = await app.rest('/file/upload', { method: 'POST', body: form, token });
  return { uid: String(field(answer, 'file_uid')), url: String(field(answer, 'url')) };
}

describe.each(DIALECTS)('in the dialect %s', (dialect) => {
  const headers = { 'X-Api-Dialect': dialect };
  const patch = (path: string, body: object, token = app.adminToken) =>
    app.rest(path, { method: 'PATCH', body, headers, token });

  test('a language is one of those with a translation', async () => {
    const { body } = await app.rest('/languages', { headers });
    expect(body).toContainEqual({ id: 1, code: 'en', name: 'English' });
    const { uid } = await newCustomer();
    expect(await patch(`/customers/${uid}`, { language_id: 1 })).toMatchObject({
      body: { customer: { language_id: 1 } },
    });
    const wrong = { status: 422, body: { errors: { language_id: [expect.stringContaining('a translation')] } } };
    expect(await patch(`/customers/${uid}`, { language_id: 9_999 })).toMatchObject(wrong);
    const made = { email: `new-${dialect}@tenant.example`, password: 'a long enough pass phrase', language_id: 0 };
    expect(await app.rest('/customers', { method: 'POST', body: made, headers })).toMatchObject(wrong);
  });

  test('a picture of a customer comes as a file of the form, is served, and goes', async () => {
    const { uid, token } = await newCustomer();
    const answer = await patch(`/customers/${uid}`, formOf(PNG, 'face.png', { first_name: 'Ann' }));
    expect(answer.status, answer.text).toBe(200);
    const url = String(field(answer, 'customer', 'image'));
    expect(answer.body).toMatchObject({ customer: { first_name: 'Ann' } });
    const served = await fetch(url);
    expect(served.headers.get('content-type')).toBe('image/png');
    expect(served.headers.get('content-security-policy')).toContain('sandbox');
    expect(Buffer.from(await served.arrayBuffer())).toEqual(PNG);
    // Clients send back what they have read.
    expect(field(await patch(`/customers/${uid}`, { image: url }), 'customer', 'image')).toBe(url);
    expect(field(await app.rest(`/customers/${uid}`, { headers }), 'customer', 'image')).toBe(url);
    expect((await app.rest('/me', { headers, token })).body).toMatchObject({ first_name: 'Ann', image: null });
    expect(field(await patch(`/customers/${uid}`, { image: '' }), 'customer', 'image')).toBe(null);
  });

  test('a picture of a user comes as the uid of a file, and goes with the file', async () => {
    const { token } = await newCustomer();
    const file = await upload(PNG, 'me.png', token);
    const me = await patch('/me', { image: file.uid, last_name: 'Lee' }, token);
    expect(me).toMatchObject({ status: 200, body: { image: file.url, last_name: 'Lee' } });
    expect((await app.rest('/me', { headers, token })).body).toMatchObject({ image: file.url });
    await app.rest(`/files/${file.uid}`, { method: 'DELETE', token });
    expect((await app.rest('/me', { headers, token })).body).toMatchObject({ image: null });
  });

  test('a file that is being deleted becomes nobody’s picture', async () => {
    const { uid, token } = await newCustomer();
    const deleting = async (file: { uid: string }, choose: () => Promise<{ status: number }>) => {
      let answered: { status: number } | undefined;
      const waits = sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%uploaded_file%FOR SHARE%'`;
      const chosen = await app.ctx.database.transaction(async (tx) => {
        // As deleteFile does, before its commit.
        await tx.execute(sql`DELETE FROM uploaded_file WHERE uid = ${file.uid}`);
        const choosing = choose().then((answer) => (answered = answer));
        await expect.poll(async () => answered ?? (await queryRows(app.ctx.db, waits)).length).toBeTruthy();
        return { choosing };
      });
      return chosen.choosing;
    };
    const wrong = { status: 422, body: { errors: { image: [expect.stringContaining('uploaded')] } } };
    const own = await upload(PNG, 'own.png', token);
    expect(await deleting(own, () => patch('/me', { image: own.uid }, token))).toMatchObject(wrong);
    expect((await app.rest('/me', { headers, token })).body).toMatchObject({ image: null });
    const logo = await upload(PNG, 'logo.png');
    expect(await deleting(logo, () => patch(`/customers/${uid}`, { image: logo.uid }))).toMatchObject(wrong);
    expect(field(await app.rest(`/customers/${uid}`, { headers }), 'customer', 'image')).toBe(null);
  });

  test('a contact has the fields of a list’s contact, each optional', async () => {
    const { uid } = await newCustomer();
    const customer = async () => field(await app.rest(`/customers/${uid}`, { headers }), 'customer', 'contact');
    expect(await customer()).toEqual({});
    const germany = { standard: 81, classic: 75 }[dialect];
    const first = { company: 'Acme', city: 'Bath', country_id: germany };
    expect((await patch(`/customers/${uid}`, { contact: first })).status).toBe(200);
    expect((await patch(`/customers/${uid}`, { 'contact[zip]': '123', 'contact[city]': '' })).status).toBe(200);
    expect(await customer()).toMatchObject({ company: 'Acme', city: '', zip: '123', country: 'Germany' });
    // D51: both dialects take a code; 0 is what a form sends when nothing was chosen.
    expect((await patch(`/customers/${uid}`, { contact: { country_id: 'fra' } })).status).toBe(200);
    expect(await customer()).toMatchObject({ company: 'Acme', country: 'France' });
    expect((await patch(`/customers/${uid}`, { contact: { country_id: 0 } })).status).toBe(200);
    expect(await customer()).toMatchObject({ company: 'Acme', country: '' });
    for (const country_id of [9_999, 'zz'])
      expect(await patch(`/customers/${uid}`, { contact: { country_id } })).toMatchObject({
        status: 422,
        body: { errors: { 'contact.country_id': [expect.stringContaining('table of countries')] } },
      });
    expect(await patch(`/customers/${uid}`, { contact: { email: 'nobody', url: 'x' } })).toMatchObject({
      status: 422,
      body: { errors: { 'contact.email': [expect.any(String)], 'contact.url': [expect.any(String)] } },
    });
  });

  test('JSON null clears the contact, its country, the language and the quota; an empty text does not', async () => {
    const { uid, customerId } = await newCustomer();
    const state = async () => {
      const { body } = await app.rest(`/customers/${uid}`, { headers });
      const [row] = await queryRows<{ options: unknown }>(
        app.ctx.db,
        sql`SELECT options FROM subscription WHERE customer_id = ${customerId}`,
      );
      return { ...Object(body).customer, options: row?.options };
    };
    const contact = { company: 'Acme', country_id: 'DE' };
    await patch(`/customers/${uid}`, { contact, language_id: 1, quota: 500, options: { email_max: 9 } });
    const set = { contact: { company: 'Acme', country: 'Germany' }, language_id: 1 };
    const options = { sending_quota: '500', email_max: '9' };
    expect(await state()).toMatchObject({ ...set, options });
    const empty = { contact: { country_id: '' }, language_id: '', quota: '' };
    expect((await patch(`/customers/${uid}`, empty)).status).toBe(200);
    expect(await state()).toMatchObject({ ...set, options });
    expect((await patch(`/customers/${uid}`, { contact: { country_id: null } })).status).toBe(200);
    expect(await state()).toMatchObject({ contact: { company: 'Acme', country: '' }, language_id: 1 });
    expect((await patch(`/customers/${uid}`, { contact: null, language_id: null, quota: null })).status).toBe(200);
    expect(await state()).toMatchObject({ contact: {}, language_id: null, options: { email_max: '9' } });
    expect((await state()).contact).toEqual({});
    expect((await state()).options).toEqual({ email_max: '9' });
  });

  test('quota and options are set on the present subscription, together with the rest or not at all', async () => {
    const { uid, customerId } = await newCustomer();
    const stateOf = async () => {
      const [row] = await queryRows<{ options: unknown; name: string }>(
        app.ctx.db,
        sql`SELECT s.options, u.first_name AS name FROM subscription s JOIN app_user u ON u.customer_id = s.customer_id
             WHERE s.customer_id = ${customerId}`,
      );
      return row;
    };
    const body = { first_name: 'Bo', quota: '500', options: { email_max: '9000' } };
    expect((await patch(`/customers/${uid}`, body)).status).toBe(200);
    expect(await stateOf()).toEqual({ options: { sending_quota: '500', email_max: '9000' }, name: 'Bo' });
    expect(await patch(`/customers/${uid}`, { first_name: 'Cy', options: { no_option: 1 } })).toMatchObject({
      status: 422,
      body: { errors: { 'options.no_option': [expect.any(String)] } },
    });
    expect((await stateOf())?.name).toBe('Bo');
    // All faults of a request together, those of the subscription included.
    const wrong = { email: 'no', contact: { email: 'no' }, image: '0123456789abc', options: { no_option: 1 } };
    const refused = await patch(`/customers/${uid}`, { ...wrong, language_id: 77 });
    expect(Object.keys(Object(field(refused, 'errors'))).toSorted()).toEqual([
      ...['contact.email', 'email', 'image', 'language_id', 'options.no_option'],
    ]);
    const none = await newCustomer(false);
    expect(await patch(`/customers/${none.uid}`, { quota: 5 })).toMatchObject({ status: 422 });
  });
});

test('a picture must be one, of the caller, and small; and nothing is left of one that was refused', async () => {
  const { uid, token } = await newCustomer();
  const other = await newCustomer();
  const html = await upload(Buffer.from('<html><script>alert(1)</script>'), 'x.png', token);
  const foreign = await upload(PNG, 'theirs.png', other.token);
  const large = Buffer.concat([PNG, Buffer.alloc(2 * 1_048_576)]);
  const filesOf = async () => field(await app.rest('/files', { token }), 'meta', 'total');
  const before = await filesOf();
  for (const body of [
    { image: html.uid },
    { image: foreign.uid },
    { image: foreign.url },
    { image: '0123456789abc' },
    { image: 'https://elsewhere.example/x.png' },
    formOf(large, 'large.png'),
    formOf(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'x.svg'),
  ]) {
    const answer = await app.rest('/me', { method: 'PATCH', body, token });
    expect(answer.status, answer.text).toBe(422);
    expect(answer.body).toMatchObject({ errors: { image: [expect.any(String)] } });
  }
  expect(await filesOf()).toBe(before);
  expect((await app.rest(`/customers/${uid}`, { method: 'PATCH', body: { image: foreign.uid }, token })).status).toBe(
    403,
  );
  expect((await app.rest('/me', { token })).body).toMatchObject({ image: null });
});

test('the same in GraphQL', async () => {
  const { uid, token, customerId } = await newCustomer();
  expect(await graphql('{ languages { ... on LanguagesSuccess { nodes { id code name } } } }', {}, token)).toEqual({
    languages: { nodes: expect.arrayContaining([{ id: 1, code: 'en', name: 'English' }]) },
  });
  const admins = await upload(PNG, 'face.png');
  const own = await upload(PNG, 'me.png', token);
  const contact = { company: 'Acme', countryId: 1 };
  const change = { uid, contact: { countryCode: 'AFG', company: 'Acme' } };
  expect(await graphql(UPDATE_CUSTOMER, { input: change })).toMatchObject({
    result: { contact: { ...contact, country: { code: 'AF' } } },
  });
  const input = { uid, image: admins.uid, languageId: 1, quota: 7, options: { email_max: 70 }, contact };
  expect(await graphql(UPDATE_CUSTOMER, { input })).toEqual({
    result: { image: admins.url, languageId: 1, contact: { ...contact, city: '', country: { code: 'AF' } } },
  });
  const [row] = await queryRows<{ options: unknown }>(
    app.ctx.db,
    sql`SELECT options FROM subscription WHERE customer_id = ${customerId}`,
  );
  expect(row?.options).toEqual({ sending_quota: '7', email_max: '70' });
  expect(await graphql(UPDATE_PROFILE, { input: { image: own.uid } }, token)).toEqual({ result: { image: own.url } });
  expect(await graphql(UPDATE_PROFILE, { input: { image: admins.uid } }, token)).toEqual({
    result: { fields: [{ field: 'image' }] },
  });
  expect(await graphql(UPDATE_CUSTOMER, { input: { uid, languageId: 2_000 } })).toMatchObject({
    result: { fields: [{ field: 'languageId' }] },
  });
  expect(await graphql(UPDATE_CUSTOMER, { input: { uid, image: null } })).toMatchObject({ result: { image: null } });
});
