/** Idempotency-Key on every POST (hard case E19): one call runs, all get its answer, and nothing of it lies in clear. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { createKeptCalls } from '../../src/domain/accounts/idempotent-calls.ts';
import { silentLog } from '../../src/lib/log.ts';
import { testInstallation } from '../support/test-context.ts';
import { startRestApp, type RestAnswer, type RestRequest } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;

const list = (name = 'Friends') => ({
  name,
  from_email: 'news@sender.example',
  from_name: 'Sender',
  default_subject: 'News',
  contact: {
    company: 'Acme',
    address_1: '1 High Street',
    city: 'Springfield',
    state: 'CA',
    zip: '12345',
    phone: '1',
    country_id: 1,
    email: 'o@sender.example',
  },
});

const post = (path: string, key: string, request: RestRequest): Promise<RestAnswer> =>
  app.rest(path, { method: 'POST', ...request, headers: { ...request.headers, 'Idempotency-Key': key } });
const countOf = async (name: string) =>
  Number((await queryRows<{ n: bigint }>(db, sql`SELECT count(*) AS n FROM mail_list WHERE name = ${name}`))[0]?.n);

test('of fifty equal calls at once one runs, and all get its answer', async () => {
  const { token } = await app.newTenant();
  const key = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => post('/lists', key, { token, body: list('Fifty') })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(new Set(answers.map(({ headers }) => headers.get('content-type'))).size).toBe(1);
  expect(await countOf('Fifty')).toBe(1);
  const later = await post('/lists', `"${key}"`, { token, body: list('Fifty') });
  expect([later.status, later.text]).toEqual([201, answers[0]?.text]);
});

test('the order of parameters, and where they stand, do not make another call; a value does', async () => {
  const { token } = await app.newTenant();
  const key = randomUUID();
  const first = await post('/lists', key, { token, body: list('Order') });
  const turned = Object.fromEntries(Object.entries(list('Order')).reverse());
  expect((await post('/lists', key, { token, body: turned })).text).toBe(first.text);
  const { name, ...rest } = list('Order');
  expect((await post(`/lists?name=${name}&api_token=${token}`, key, { token: null, body: rest })).text).toBe(
    first.text,
  );
  const uid = (first.body as { list_uid: string }).list_uid;
  for (const other of [
    await post('/lists', key, { token, body: list('Another') }),
    await post(`/lists/${uid}/add-field`, key, { token, body: list('Order') }),
    await post('/lists', key, { token, body: list('Order'), headers: { 'X-Api-Dialect': 'classic' } }),
  ])
    expect(other).toMatchObject({
      status: 422,
      body: { errors: { idempotency_key: [expect.stringMatching(/another call/)] } },
    });
  expect(await countOf('Order')).toBe(1);
  expect(await countOf('Another')).toBe(0);
});

test("one caller's keys are no other's", async () => {
  const [one, two] = [await app.newTenant(), await app.newTenant()];
  const key = randomUUID();
  const texts = [];
  for (const { token } of [one, two]) texts.push((await post('/lists', key, { token, body: list('Mine') })).text);
  expect(new Set(texts).size).toBe(2);
  expect(await countOf('Mine')).toBe(2);
});

test('a refusal that would come again is kept; one by right, pace or defect is not', async () => {
  const { token, customerId } = await app.newTenant();
  const key = randomUUID();
  const bad = { ...list('Refused'), from_email: 'nonsense' };
  const refused = await post('/lists', key, { token, body: bad });
  expect(refused.status).toBe(422);
  expect((await post('/lists', key, { token, body: bad })).text).toBe(refused.text);
  const reader = await app.newTenant({ scopes: ['lists:read'] });
  expect((await post('/lists', key, { token: reader.token, body: list() })).status).toBe(403);
  expect((await post('/lists', key, { token: 'x'.repeat(60), body: list() })).status).toBe(401);
  expect((await post('/lists', key, { token: null, body: list() })).status).toBe(401);
  const rows = await queryRows<{ customer_id: bigint }>(db, sql`SELECT customer_id FROM hot.idempotent_call`);
  expect(rows.filter((row) => row.customer_id === customerId)).toHaveLength(1);
  expect(rows.filter((row) => row.customer_id === reader.customerId || row.customer_id === 0n)).toEqual([]);
});

test('a login is answered with the same token, which lies nowhere in clear', async () => {
  const { email, password } = await app.newTenant();
  const key = randomUUID();
  const logIn = (typed: string) => post('/user/login', key, { token: null, body: { email, password: typed } });
  const [first, second] = [await logIn(password), await logIn(password)];
  expect(first.status).toBe(200);
  expect(second.text).toBe(first.text);
  const { token } = first.body as { token: string };
  expect((await app.rest('/me', { token })).status).toBe(200);
  expect((await logIn('something else')).status).toBe(422);
  const [{ dump } = { dump: '' }] = await queryRows<{ dump: string }>(
    db,
    sql`SELECT string_agg(encode(coalesce(answer, '') || fingerprint || id, 'escape'), ' ') AS dump FROM hot.idempotent_call`,
  );
  for (const secret of [token, password, email, key]) expect(dump).not.toContain(secret);
});

test('keys that are none are a 422, reads and other methods do not look at them', async () => {
  const { token } = await app.newTenant();
  for (const key of ['a b', 'x'.repeat(256), '"', 'ä'])
    expect((await post('/lists', key, { token, body: list('Bad key') })).status).toBe(422);
  expect(await countOf('Bad key')).toBe(0);
  const headers = { 'Idempotency-Key': 'a b' };
  expect((await app.rest('/lists', { token, headers })).status).toBe(200);
  expect((await post('/lists', 'a b', { token: 'x'.repeat(60), body: list() })).status).toBe(401);
});

describe('uploads', () => {
  const form = (content: string, fields: Record<string, string> = {}) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    body.set('file', new Blob([content]), 'people.csv');
    return body;
  };

  test('run once as well: the file is part of the call', async () => {
    const { token } = await app.newTenant();
    const { body } = await app.rest('/lists', { method: 'POST', token, body: list('Upload') });
    const path = `/lists/${(body as { list_uid: string }).list_uid}/import`;
    const key = randomUUID();
    const csv = `EMAIL\n${Array.from({ length: 5_000 }, (_, n) => `p${n}@person.example`).join('\n')}\n`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(path, key, { token, body: form(csv) })));
    expect(answers[0]?.status).toBe(201);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await post(path, key, { token, body: form(csv) })).text).toBe(answers[0]?.text);
    for (const other of [form(csv.replace('p7@', 'p8@')), form(csv, { tag: 'new' })])
      expect(await post(path, key, { token, body: other })).toMatchObject({
        status: 422,
        body: { errors: { idempotency_key: [expect.any(String)] } },
      });
    const [row] = await queryRows<{ n: bigint }>(db, sql`SELECT count(*) AS n FROM mail_list_import`);
    expect(row?.n).toBe(1n);
  });
});

describe('a call whose process died', () => {
  /** As another process would hold it, and then be gone. */
  async function breakOff(token: string, key: string): Promise<void> {
    await post('/lists', key, { token, body: list('Broken off') });
    await db.execute(sql`DELETE FROM mail_list WHERE name = 'Broken off'`);
    await db.execute(sql`UPDATE hot.idempotent_call SET answer = NULL, lease_expires_at = now() - interval '1 second'`);
  }

  test('is not run again silently: the client is told, and decides', async () => {
    const { token } = await app.newTenant();
    const key = randomUUID();
    await breakOff(token, key);
    expect(await post('/lists', key, { token, body: list('Broken off') })).toMatchObject({
      status: 422,
      body: { errors: { idempotency_key: [expect.stringContaining('Check whether that call took effect')] } },
    });
    expect(await countOf('Broken off')).toBe(0);
    expect((await post('/lists', randomUUID(), { token, body: list('Broken off') })).status).toBe(201);
  });

  test('leaves its key free after a day', async () => {
    const { token } = await app.newTenant();
    const key = randomUUID();
    await breakOff(token, key);
    await db.execute(sql`UPDATE hot.idempotent_call SET created_at = now() - interval '25 hours'`);
    expect((await post('/lists', key, { token, body: list('Broken off') })).status).toBe(201);
  });
});

test('another process waits for the answer, and comes again later when it takes too long', async () => {
  const { token } = await app.newTenant();
  const call = { token, ipAddress: '192.0.2.1', key: randomUUID(), content: 'same' };
  const keepers = [200, 60_000, 60_000].map((waitMsMax) => {
    const database = openDatabase({ url: app.ctx.database.url, poolSize: 1, log: silentLog });
    return {
      database,
      calls: createKeptCalls({ database, secret: testInstallation.secret, log: silentLog, waitMsMax }, JSON.parse),
    };
  });
  const [impatient, here, there] = keepers;
  const first = await here?.calls.begin(call);
  expect(first?.kind).toBe('first');
  expect(await impatient?.calls.begin(call)).toEqual({ kind: 'running' });
  const waiting = Promise.all([there?.calls.begin(call), there?.calls.begin(call), here?.calls.begin(call)]);
  if (first?.kind === 'first') await first.keep({ hello: 'there' });
  expect(await waiting).toEqual(Array(3).fill({ kind: 'answered', answer: { hello: 'there' } }));
  await Promise.all(keepers.map(({ database }) => database.close()));
});
