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
