/** The rights of a person over REST: export as a stream, erase, and how far it is. */
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker' });
const owner = await app.newTenant();
const other = await app.newTenant();
async function newPerson(email: string): Promise<string> {
  const made = await app.rest('/lists', { method: 'POST', token: owner.token, body: LIST_BODY });
  const { list_uid } = made.body as { list_uid: string };
  await app.rest('/subscribers', {
    method: 'POST',
    token: owner.token,
    body: { list_uid, EMAIL: email, FIRST_NAME: 'Zoë "Z"' },
  });
  return list_uid;
}

test('the export is one JSON document with every row, however many', async () => {
  await newPerson('many@person.example');
  await app.ctx.db.execute(sql`
    INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
    SELECT customer_id, list_id, id, 'subscribed', 'api' FROM subscriber, generate_series(1, 2500) WHERE email = 'many@person.example'`);
  const answer = await app.rest('/subscribers/export?email=many@person.example', { token: owner.token });
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  const { email, tables } = JSON.parse(answer.text) as { email: string; tables: Record<string, { fields?: object }[]> };
  expect([email, tables['subscriber']?.length, tables['consent_event']?.length]).toEqual([
    'many@person.example',
    1,
    2501,
  ]);
  expect(tables['subscriber']?.[0]?.fields).toEqual({ FIRST_NAME: 'Zoë "Z"' });
  expect(
    JSON.parse((await app.rest('/subscribers/export?email=many@person.example', { token: other.token })).text),
  ).toEqual({
    email: 'many@person.example',
    tables: {},
  });
  expect((await app.rest('/subscribers/export?email=nobody', { token: owner.token })).status).toBe(422);
});

test('people who came by an import have a row of it in their consent history', async () => {
  const list = await newPerson('before@person.example');
  const people = ['plain@person.example,', 'left@person.example,unsubscribed', 'before@person.example,unconfirmed'];
  const form = new FormData();
  form.append('file', new Blob([['email,status', ...people].join('\n')]), 'spring fair.csv');
  const begun = await app.rest(`/lists/${list}/import`, { method: 'POST', body: form, token: owner.token });
  const { import_uid: uid } = begun.body as { import_uid: string };
  const isDone = async () => {
    const { body } = await app.rest(`/lists/${list}/imports/${uid}`, { token: owner.token });
    return (body as { import: { status: string } }).import.status === 'done';
  };
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 20));
  const me = (await app.rest('/me', { token: owner.token })).body as { email: string };
  const ofImport = { source: `import:${uid}`, file_name: 'spring fair.csv', imported_by: me.email };
  const expected = {
    'plain@person.example': [{ ...ofImport, status: 'subscribed' }],
    'left@person.example': [{ ...ofImport, status: 'unsubscribed' }],
    'before@person.example': [{ source: 'api', status: 'subscribed', file_name: null, imported_by: null }],
  };
  for (const [email, rows] of Object.entries(expected)) {
    const { text } = await app.rest(`/subscribers/export?email=${email}`, { token: owner.token });
    const { tables } = JSON.parse(text) as { tables: Record<string, object[]> };
    expect(tables['consent_event'], email).toMatchObject(rows);
    const query =
      'query ($email: String!) { personalDataSummary(email: $email) { ... on PersonalDataSummary { tables { table rows } } } subscriber(subscriber: $email) { ... on Subscriber { createdAt consentEvents { status source fileName importedBy at } } } }';
    const twin = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
      body: JSON.stringify({ query, variables: { email } }),
    });
    const { data } = (await twin.json()) as {
      data: { subscriber: { createdAt: string }; personalDataSummary: object };
    };
    const events = rows.map(({ file_name: fileName, imported_by: importedBy, status, source }) => ({
      ...{ status, source, fileName, importedBy },
      at: data.subscriber.createdAt,
    }));
    expect(data.subscriber).toMatchObject({ consentEvents: events });
    expect(data.personalDataSummary).toMatchObject({
      tables: expect.arrayContaining([{ table: 'consent_event', rows: rows.length }]),
    });
  }
  const elsewhere = await app.rest('/subscribers/export?email=plain@person.example', { token: other.token });
  expect(JSON.parse(elsewhere.text)).toMatchObject({ tables: {} });
});

test('erasing begins at once and is done soon, and its record names nobody', async () => {
  await newPerson('gone@person.example');
  expect(
    (
      await app.rest('/subscribers/erase', {
        method: 'POST',
        token: owner.token,
        body: { email: 'gone@person.example', everywhere: 1 },
      })
    ).status,
  ).toBe(403);
  const begun = await app.rest('/subscribers/erase', {
    method: 'POST',
    token: owner.token,
    body: { email: 'gone@person.example' },
  });
  const { erasure_uid } = begun.body as { erasure_uid: string };
  expect(begun.body).toMatchObject({ status: 1, erasure: { people: 1 } });
  expect(await app.rest('/subscribers/gone@person.example', { token: owner.token })).toMatchObject({ status: 404 });
  const seen = async (token = owner.token) => app.rest(`/erasures/${erasure_uid}`, { token });
  await expect
    .poll(async () => (await seen()).body)
    .toMatchObject({ erasure: { status: 'done', finished_at: expect.any(String) } });
  expect((await seen()).text).not.toContain('gone');
  expect((await seen(other.token)).status).toBe(404);
  expect(app.logged.some((line) => line.includes('gone@person.example'))).toBe(false);
});
