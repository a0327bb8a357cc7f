/** Suppression lists over REST: a customer's own, and the installation's for administrators. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const other = await app.newTenant();

const ask = (method: string, path: string, body: object | undefined, { token }: { token: string } = owner) =>
  app.rest(path, { method, token, ...(body ? { body } : {}) });
const emailsOf = async (tenant: RestTenant) =>
  ((await app.rest('/suppressions', { token: tenant.token })).body as { data: { email: string }[] }).data.map(
    ({ email }) => email,
  );

test('one, several and many are suppressed, read by pages, looked up and taken off again', async () => {
  expect((await ask('POST', '/suppressions', { email: 'Ann@X.example', note: 'by phone' })).body).toMatchObject({
    added: 1,
  });
  expect(
    (await ask('POST', '/suppressions', { email: 'ann@x.example, bob@x.example\ncarl@x.example' })).body,
  ).toMatchObject({ added: 2 });
  const many = Array.from({ length: 5_000 }, (_, n) => `many${String(n).padStart(4, '0')}@y.example`);
  expect((await ask('POST', '/suppressions', { email: many.join('\n'), reason: 'bounce' })).body).toMatchObject({
    added: 5_000,
  });
  const page = await app.rest('/suppressions?per_page=2&page=2', { token: owner.token });
  expect(page.headers.get('x-total-count')).toBe('5003');
  expect((page.body as { data: object[] }).data).toMatchObject([
    { email: 'carl@x.example', reason: 'manual', note: null },
    { email: 'many0000@y.example', reason: 'bounce' },
  ]);
  const found = await app.rest('/suppressions?email=ANN@x.example', { token: owner.token });
  const [user] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT uid FROM app_user WHERE email = ${owner.email}`,
  );
  expect((found.body as { data: object[] }).data).toMatchObject([{ note: 'by phone', added_by: user?.uid }]);
  expect((await ask('DELETE', '/suppressions/ANN@x.example', undefined)).body).toMatchObject({
    status: 1,
    message: 'Deleted',
  });
  expect((await ask('DELETE', '/suppressions/ann@x.example', undefined)).status).toBe(404);
});

test('what is wrong is refused whole', async () => {
  const before = (await emailsOf(owner)).length;
  for (const body of [{ email: 'ok@x.example,no' }, { email: [] }, {}, { email: 'a@x.example', reason: 'erased' }])
    expect((await ask('POST', '/suppressions', body)).status, JSON.stringify(body)).toBe(422);
  const tooMany = Array.from({ length: 10_001 }, (_, n) => `m${n}@z.example`);
  expect((await ask('POST', '/suppressions', { email: tooMany.join('\n') })).body).toMatchObject({
    errors: { email: [expect.any(String)] },
  });
  expect((await emailsOf(owner)).length).toBe(before);
});

test('a customer neither reads nor changes what others keep', async () => {
  await ask('POST', '/suppressions', { email: 'mine@x.example' });
  expect(await emailsOf(other)).toEqual([]);
  expect((await ask('DELETE', '/suppressions/mine@x.example', undefined, other)).status).toBe(404);
  for (const [method, path, body] of [
    ['GET', '/suppressions?everywhere=1', undefined],
    ['POST', '/suppressions', { email: 'x@x.example', everywhere: 1 }],
    ['DELETE', '/suppressions/x@x.example?everywhere=1', undefined],
  ] as const)
    expect((await ask(method, path, body)).status, method).toBe(403);
});

test('an entry of the installation shows to a customer as suppressed, and nothing more', async () => {
  const admin = { token: app.adminToken };
  const hidden = { email: 'all@x.example', reason: 'complaint', note: 'canary-4711', everywhere: 1 };
  expect((await ask('POST', '/suppressions', hidden, admin)).status).toBe(201);
  expect(await emailsOf(other)).toEqual([]);
  const [list] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
    VALUES (${other.customerId}, 'abcdef0123456', 'L', 'S', 'a@b.example', 'A') RETURNING uid`,
  );
  const refused = await ask('POST', '/subscribers', { list_uid: list?.uid, EMAIL: 'all@x.example' }, other);
  expect([refused.status, /canary|complaint@|installation/.test(refused.text)]).toEqual([422, false]);
  expect((await ask('DELETE', '/suppressions/all@x.example', { everywhere: 1 }, admin)).status).toBe(200);
});
