/** Signing up by the public: over the API, by a form on anybody's page, and by whoever means harm (hard case B14). */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { personMail } from '../../src/domain/audience/mails/person-mail.ts';
import { suppress } from '../../src/domain/audience/suppression-store.ts';
import { givePlan } from '../support/plans.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp({ TRUSTED_PROXIES: '127.0.0.1' });
const owner = await app.newTenant();
let neighbour = 0;
/** Every call of a test from a network address of its own, unless it says otherwise. */
const from = (ip = `203.0.113.${(neighbour = (neighbour % 250) + 1)}`) => ({ 'X-Forwarded-For': ip });

async function newList(options: object = { public_signup: 1 }, tenant: RestTenant = owner): Promise<string> {
  const contact = { company: 'Acme', address_1: '1', city: 'Bath', state: 'BA', zip: '1', phone: '1', country_id: 1 };
  const body = {
    ...{ name: 'Friends', from_email: 'news@sender.example', from_name: 'News', default_subject: 'Hello' },
    contact: { ...contact, email: 'o@x.co' },
    ...options,
  };
  const answer = await app.rest('/lists', { method: 'POST', body, token: tenant.token });
  return (answer.body as { list_uid: string }).list_uid;
}

const signUp = (body: object, headers = from()) =>
  app.rest('/public/subscribers', { method: 'POST', body, token: null, headers });
async function statusOf(list: string, email: string): Promise<unknown> {
  const { body } = await app.rest(`/subscribers/email/${email}?list_uid=${list}`, { token: owner.token });
  return (body as { subscribers: { status: string; source: string; FIRST_NAME: string }[] }).subscribers[0];
}
const askings = async (email: string) =>
  (
    await queryRows(
      app.ctx.db,
      sql`SELECT 1 FROM consent_event e JOIN subscriber s ON s.id = e.subscriber_id WHERE s.email = ${email} AND e.status = 'pending'`,
    )
  ).length;

test('somebody new is asked, with the values of the list’s fields and nothing else', async () => {
  const list = await newList();
  const answer = await signUp({
    list_uid: list,
    EMAIL: 'ann@person.example',
    FIRST_NAME: 'Ann',
    tag: 'vip',
    status: 'subscribed',
    NO_FIELD: 'x',
  });
  // Decision D53.
  expect([answer.status, answer.body]).toEqual([
    200,
    { status: 1, message: 'Please check your mailbox and confirm.', ignored: ['tag', 'status', 'NO_FIELD'] },
  ]);
  expect(await statusOf(list, 'ann@person.example')).toMatchObject({
    status: 'pending',
    source: 'form',
    FIRST_NAME: 'Ann',
    tags: [],
  });
});

test('everybody is answered alike, and what a stranger types changes nobody', async () => {
  const list = await newList();
  const add = (EMAIL: string) =>
    app.rest('/subscribers', {
      method: 'POST',
      body: { list_uid: list, EMAIL, FIRST_NAME: 'Real' },
      token: owner.token,
    });
  await add('there@person.example');
  await add('gone@person.example');
  await app.rest('/subscribers/gone@person.example/unsubscribe', { method: 'PATCH', token: owner.token });
  await suppress(app.ctx.db, { customerId: owner.customerId, emailKey: 'barred@person.example', reason: 'complaint' });
  const answers = [];
  for (const EMAIL of ['new', 'there', 'gone', 'barred'].map((name) => `${name}@person.example`))
    answers.push(await signUp({ list_uid: list, EMAIL, FIRST_NAME: 'Evil' }));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(await statusOf(list, 'there@person.example')).toMatchObject({ status: 'subscribed', FIRST_NAME: 'Real' });
  expect(await statusOf(list, 'gone@person.example')).toMatchObject({ status: 'pending', FIRST_NAME: 'Real' });
  expect(await statusOf(list, 'barred@person.example')).toBeUndefined();
  // Who had left and does not answer has left still.
  await app.ctx.db.execute(sql`UPDATE subscriber SET pending_until = now() WHERE email = 'gone@person.example'`);
  const { expirePending } = await import('../../src/domain/audience/expire-pending.ts');
  await expirePending(app.ctx);
  expect(await statusOf(list, 'gone@person.example')).toMatchObject({ status: 'unsubscribed' });
});

test('a list that does not allow it, a wrong address and a robot change nothing', async () => {
  const [closed, list] = [await newList({}), await newList()];
  expect((await signUp({ list_uid: closed, EMAIL: 'x@person.example' })).status).toBe(404);
  expect((await signUp({ list_uid: '0000000000000', EMAIL: 'x@person.example' })).status).toBe(404);
  expect((await signUp({ list_uid: list, EMAIL: 'no address' })).body).toMatchObject({
    errors: { EMAIL: [expect.any(String)] },
  });
  expect((await signUp({ list_uid: list, EMAIL: 'bot@person.example', homepage: 'https://spam.example' })).status).toBe(
    200,
  );
  expect(await statusOf(list, 'bot@person.example')).toBeUndefined();
});

test('a plan without room takes nobody, and does not tell who is on the list', async () => {
  const tenant = await app.newTenant();
  await givePlan(app.ctx.db, tenant.customerId, { subscriber_max: '1' });
  const list = await newList({ public_signup: 1 }, tenant);
  expect((await signUp({ list_uid: list, EMAIL: 'first@person.example' })).status).toBe(200);
  const emails = ['second', 'first', 'third'].map((name) => `${name}@person.example`);
  const answers = await Promise.all(emails.map((EMAIL) => signUp({ list_uid: list, EMAIL })));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  const rows = await queryRows(app.ctx.db, sql`SELECT email FROM subscriber WHERE customer_id = ${tenant.customerId}`);
  expect(rows).toEqual([{ email: 'first@person.example' }]);
});

test('one network gets twenty tries', async () => {
  const list = await newList();
  const statuses = await Promise.all(
    Array.from(
      { length: 30 },
      async (_, n) => (await signUp({ list_uid: list, EMAIL: `n${n}@person.example` }, from('198.51.100.1'))).status,
    ),
  );
  expect([
    statuses.filter((status) => status === 200).length,
    statuses.filter((status) => status === 429).length,
  ]).toEqual([20, 10]);
  expect((await signUp({ list_uid: list, EMAIL: 'other@person.example' }, from('198.51.100.2'))).status).toBe(200);
});

test('fifty sign-ups at once, over lists of many customers, send three mails a day to one address', async () => {
  const tenants = await Promise.all(Array.from({ length: 5 }, () => app.newTenant()));
  const lists = await Promise.all(
    tenants.flatMap((tenant) => [newList({ public_signup: 1 }, tenant), newList({ public_signup: 1 }, tenant)]),
  );
  const EMAIL = 'victim@person.example';
  await Promise.all(Array.from({ length: 50 }, (_, n) => signUp({ list_uid: lists[n % lists.length], EMAIL })));
  expect(await askings(EMAIL)).toBeGreaterThanOrEqual(lists.length);
  const causes = await queryRows<{ customerId: bigint; listId: bigint; id: bigint; eventId: bigint }>(
    app.ctx.db,
    sql`
    SELECT e.customer_id AS "customerId", e.list_id AS "listId", s.id, e.id AS "eventId" FROM consent_event e
      JOIN subscriber s ON s.id = e.subscriber_id WHERE s.email = ${EMAIL} AND e.status = 'pending'`,
  );
  // What the job asks before it sends, all of them at the same time, and again as a repeated job does.
  const send = async () => {
    const answers = await Promise.all(causes.map((cause) => personMail(app.ctx, { ...cause, kind: 'confirmation' })));
    return answers.filter((answer) => typeof answer !== 'string');
  };
  expect(await send()).toHaveLength(3);
  expect(await send()).toHaveLength(3);
  await app.ctx.db.execute(sql`UPDATE hot.confirmation_mail SET at = at - interval '25 hours'`);
  expect((await send()).length).toBeGreaterThan(0);
});

describe('the page', () => {
  const post = (list: string, values: Record<string, string>) =>
    fetch(`${app.baseUrl}/signup/${list}`, {
      method: 'POST',
      body: new URLSearchParams(values),
      headers: { ...from(), Origin: 'https://shop.example' },
    });

  test('shows the list’s fields, and takes a form from anywhere', async () => {
    const list = await newList({ public_signup: 1, name: 'A & <b>' });
    const page = await (await fetch(`${app.baseUrl}/signup/${list}`)).text();
    expect(page).toContain('Subscribe to A &amp; &lt;b&gt;');
    expect(page).toContain('name="FIRST_NAME"');
    const answer = await post(list, { EMAIL: 'page@person.example', FIRST_NAME: '<i>Pat</i>' });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    expect(await answer.text()).toContain('check your mailbox');
    expect(await statusOf(list, 'page@person.example')).toMatchObject({ status: 'pending', FIRST_NAME: '<i>Pat</i>' });
  });

  test('gives a wrong form back with what was typed, and knows no other list', async () => {
    const list = await newList();
    const wrong = await post(list, { EMAIL: 'no "address"', FIRST_NAME: 'Kim' });
    const text = await wrong.text();
    expect([wrong.status, text.includes('value="no &quot;address&quot;"'), text.includes('value="Kim"')]).toEqual([
      422,
      true,
      true,
    ]);
    expect((await post(await newList({}), { EMAIL: 'a@person.example' })).status).toBe(404);
    expect((await fetch(`${app.baseUrl}/signup/`)).status).toBe(404);
  });
});
