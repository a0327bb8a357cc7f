/** The mails that a list sends by itself, end to end: in the owner's words, once for each cause, to the right people. */
import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const DEADLINE_MS = 120_000;

async function mailsTo(address: string, count: number) {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const mails = await queryRows<{ raw: Buffer }>(
      app.ctx.db,
      sql`SELECT raw FROM inbox.message WHERE ${address} = ANY (rcpt_to) ORDER BY id`,
    );
    if (mails.length >= count || performance.now() > deadline)
      return Promise.all(mails.map(({ raw }) => PostalMime.parse(raw)));
    await sleep(100);
  }
}

const call = (method: string, path: string, body: object = {}) => app.rest(path, { method, body, token: owner.token });
const field = (answer: RestAnswer, name: string): unknown => Reflect.get(Object(answer.body), name);
const here = (address: string | undefined) => (address ?? '').replace(/^http:\/\/[^/]+/, app.baseUrl);

async function newList(options: object): Promise<string> {
  const contact = {
    ...{ company: 'Acme', address_1: '1', city: 'Bath', state: 'BA', zip: '1', phone: '1', country_id: 1 },
    email: `owner-${Math.random().toString(36).slice(2)}@owner.example`,
  };
  const sender = { from_email: 'news@sender.example', from_name: 'News', default_subject: 'Hello' };
  const answer = await call('POST', '/lists', { name: 'Friends', ...sender, contact, ...options });
  expect(answer.status, answer.text).toBe(201);
  return String(field(answer, 'list_uid'));
}

const add = (list_uid: string, EMAIL: string, more: object = {}) =>
  call('POST', '/subscribers', { list_uid, EMAIL, ...more });
const contactOf = async (uid: string) => {
  const [row] = await queryRows<{ email: string }>(
    app.ctx.db,
    sql`SELECT c.email FROM mail_list l JOIN list_contact c ON c.list_id = l.id WHERE l.uid = ${uid}`,
  );
  return row?.email ?? '';
};
/** Notices are gathered for a minute: the test makes that minute be over. */
async function hurryNotices(): Promise<void> {
  await app.ctx.db.execute(
    sql`SELECT graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE task_identifier = 'audience.notify-unsubscribes'), run_at => now())`,
  );
}

test('the plain text of the built-in confirmation has the bare link', async () => {
  const list = await newList({ subscribe_confirmation: 1 });
  await add(list, 'plain@person.example');
  const [mail] = await mailsTo('plain@person.example', 1);
  expect(mail?.text).toMatch(/\nhttp:\/\/\S+\/confirm\/[\w.-]+\n/);
  expect(mail?.text).not.toContain('[http');
});

test('the owner’s words are sent, in both merge languages, and confirming brings a welcome once', async () => {
  const list = await newList({ subscribe_confirmation: 1, send_welcome_email: 1 });
  const words = {
    subject: 'Hello {FIRST_NAME}, {{ subscriber.first_name | upcase }}',
    html: '<p>{FIRST_NAME} <a href="{{ confirm_url }}">yes</a></p>',
    plain: 'Go to {CONFIRM_URL}',
  };
  expect((await call('PATCH', `/lists/${list}/templates/confirmation`, words)).status).toBe(200);
  await add(list, 'ann@person.example', { FIRST_NAME: 'Ann' });
  const [mail] = await mailsTo('ann@person.example', 1);
  expect(mail?.subject).toBe('Hello Ann, ANN');
  const link = /href="([^"]+)"/.exec(mail?.html || '')?.[1];
  expect(mail?.text).toContain(`Go to ${link}`);
  for (let time = 0; time < 3; time++) expect((await fetch(here(link), { method: 'POST' })).status).toBe(200);
  const mails = await mailsTo('ann@person.example', 2);
  expect(mails.map(({ subject }) => subject)).toEqual(['Hello Ann, ANN', 'Welcome to Friends']);
  // The links of the welcome work.
  const unsubscribe = /href="([^"]+\/u\/[^"]+)"/.exec(mails[1]?.html || '')?.[1];
  // Programs find it in the header; who has not confirmed yet is on no list.
  const leave = mails.map(({ headers }) => headers.find(({ key }) => key === 'list-unsubscribe')?.value);
  expect(leave).toEqual([undefined, `<${unsubscribe}>`]);
  expect((await fetch(here(unsubscribe), { method: 'POST' })).status).toBe(200);
  await sleep(500);
  expect(await mailsTo('ann@person.example', 2)).toHaveLength(2);
});

test('single opt-in is welcomed at once; an import, or a status set by hand, is not', async () => {
  const list = await newList({ send_welcome_email: 1 });
  await add(list, 'bea@person.example');
  expect((await mailsTo('bea@person.example', 1)).map(({ subject }) => subject)).toEqual(['Welcome to Friends']);
  await call('PATCH', '/subscribers/bea@person.example', { list_uid: list, status: 'unconfirmed' });
  await call('PATCH', '/subscribers/bea@person.example', { list_uid: list, status: 'subscribed' });
  const form = new FormData();
  form.append('file', new Blob(['EMAIL\ncarl@person.example\n']), 'people.csv');
  await app.rest(`/lists/${list}/import`, { method: 'POST', body: form, token: owner.token });
  await sleep(1_500);
  expect(await mailsTo('bea@person.example', 1)).toHaveLength(1);
  expect(
    await queryRows(app.ctx.db, sql`SELECT 1 FROM inbox.message WHERE 'carl@person.example' = ANY (rcpt_to)`),
  ).toHaveLength(0);
});

test('who leaves gets a goodbye, and the owner one notice for many', async () => {
  const list = await newList({ send_goodbye_email: 1, unsubscribe_notification: 1 });
  const people = Array.from({ length: 60 }, (_, n) => `leaver${n}@person.example`);
  await app.ctx.db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
        SELECT l.customer_id, l.id, e, e, 'subscribed', '{}' FROM mail_list l, unnest(${people}::text[]) e WHERE l.uid = ${list}`,
  );
  const leave = async (email = '') => {
    const answer = await call('PATCH', `/lists/${list}/subscribers/email/${email}/unsubscribe`);
    expect(answer.status, answer.text).toBe(200);
  };
  // Some at once: a busy machine refuses requests that wait for too long.
  for (let n = 0; n < people.length; n += 10) await Promise.all(people.slice(n, n + 10).map(leave));
  await leave(people[0]);
  expect((await mailsTo(people[0] ?? '', 1)).map(({ subject }) => subject)).toEqual(['You have left Friends']);
  const contact = await contactOf(list);
  await hurryNotices();
  const [notice] = await mailsTo(contact, 1);
  expect(notice?.subject).toBe('60 left Friends');
  expect(notice?.text).toContain('leaver0@person.example');
  expect(notice?.text).toContain('and 10 more');
  expect(await mailsTo(people[0] ?? '', 1)).toHaveLength(1);
  // The next one comes an hour later at the earliest.
  await add(list, 'late@person.example');
  await leave('late@person.example');
  const jobs = async () => {
    const rows = await queryRows<{ seconds: number }>(
      app.ctx.db,
      sql`
      SELECT extract(epoch FROM run_at - now())::float8 AS seconds FROM graphile_worker.jobs
       WHERE task_identifier = 'audience.notify-unsubscribes'`,
    );
    return rows.map(({ seconds }) => seconds > 3_000);
  };
  // The one before is there until its end is written, a moment after its notice was sent.
  await expect.poll(jobs).toEqual([true]);
});

describe('words that cannot be sent', () => {
  const refused: [string, object, object][] = [
    ['no link to confirm', { html: '<p>Hello</p>' }, { html: [expect.stringContaining('{CONFIRM_URL}')] }],
    ['the link in a comment only', { html: '<p>Hi</p><!-- {CONFIRM_URL} -->' }, { html: [expect.any(String)] }],
    ['a plain text without it', { plain: 'Hello' }, { plain: [expect.stringContaining('{CONFIRM_URL}')] }],
    ['broken Liquid', { html: '<p>\n{% if x %}{CONFIRM_URL}' }, { html: [expect.stringContaining('Line 2')] }],
    ['a subject of two lines', { subject: 'a\r\nBcc: x@y.example' }, { subject: [expect.any(String)] }],
    ['an empty html', { html: ' ' }, { html: [expect.any(String)] }],
  ];
  test.each(refused)('%s', async (_what, words, errors) => {
    const list = await newList({ subscribe_confirmation: 1 });
    const answer = await call('PATCH', `/lists/${list}/templates/confirmation`, words);
    expect([answer.status, field(answer, 'errors')]).toEqual([422, errors]);
    const preview = await call('POST', `/lists/${list}/templates/confirmation/preview`, words);
    expect(preview.status).toBe(422);
  });

  test('an unknown kind, and the built-in words come back', async () => {
    const list = await newList({});
    expect((await call('PATCH', `/lists/${list}/templates/party`, { subject: 'x' })).status).toBe(422);
    await call('PATCH', `/lists/${list}/templates/welcome`, { subject: 'Own' });
    const shown = (await call('POST', `/lists/${list}/templates/welcome/preview`, { html: '<p>{EMAIL} {NO_TAG}</p>' }))
      .body;
    expect(shown).toMatchObject({ preview: { subject: 'Own', html: expect.stringContaining('reader@example.com') } });
    expect(shown).toMatchObject({ preview: { warnings: [expect.stringContaining('NO_TAG')] } });
    await call('DELETE', `/lists/${list}/templates/welcome`);
    const { body } = await app.rest(`/lists/${list}/templates`, { token: owner.token });
    expect(body).toMatchObject({
      templates: [
        { kind: 'confirmation' },
        { kind: 'welcome', subject: 'Welcome to {LIST_NAME}', changed_at: null },
        {},
        {},
      ],
    });
  });
});
