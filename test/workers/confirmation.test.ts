/** Double opt-in from end to end: added over REST, asked by mail, confirmed by the link, once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const DEADLINE_MS = 120_000;

interface Mail {
  readonly subject: string;
  readonly raw: Buffer;
  readonly rcpt_to: string[];
}

async function mailsTo(address: string, count: number): Promise<Mail[]> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const mails = await queryRows<Mail>(
      app.ctx.db,
      sql`SELECT subject, raw, rcpt_to FROM inbox.message WHERE ${address} = ANY (rcpt_to) ORDER BY id`,
    );
    if (mails.length >= count || performance.now() > deadline) return mails;
    await sleep(100);
  }
}

async function newDoubleList(name: string): Promise<string> {
  const contact = { ...CONTACT, company: 'Acme & <Sons>' };
  const list = { ...LIST_BODY, name, contact, subscribe_confirmation: 1 };
  return ((await app.rest('/lists', { method: 'POST', body: list, token: owner.token })).body as { list_uid: string })
    .list_uid;
}

const add = (list_uid: string, EMAIL: string) =>
  app.rest('/subscribers', { method: 'POST', body: { list_uid, EMAIL }, token: owner.token });
const statusOf = async (email: string) => {
  const { body } = await app.rest(`/subscribers/email/${email}`, { token: owner.token });
  return (body as { subscribers: { status: string }[] }).subscribers.map(({ status }) => status);
};

test('the mail asks, the link confirms, a look at it does not', async () => {
  const list = await newDoubleList('Friends {{ 7 | times: 6 }} & {EMAIL}');
  await add(list, 'ann@example.org');
  const [mail] = await mailsTo('ann@example.org', 1);
  expect(mail?.subject).toContain('Please confirm your subscription to Friends {{ 7 | times: 6 }} & {EMAIL}');
  const text = mail?.raw.toString('latin1').replaceAll('=\r\n', '') ?? '';
  expect(text).not.toMatch(/^List-Unsubscribe/im);
  expect(text).toContain('Acme &amp; &lt;Sons&gt;');
  const link = /http:\/\/[^\s"<>]+\/confirm\/[\w.-]+/.exec(text.replaceAll('=3D', '='))?.[0] ?? 'no link';
  const here = link.replace(/^http:\/\/[^/]+/, app.baseUrl);
  expect((await fetch(here)).status).toBe(200);
  expect(await statusOf('ann@example.org')).toEqual(['pending']);
  expect((await fetch(here, { method: 'POST' })).status).toBe(200);
  expect(await statusOf('ann@example.org')).toEqual(['subscribed']);
  await app.rest('/subscribers/ann@example.org/unsubscribe', { method: 'PATCH', token: owner.token });
  expect((await fetch(here, { method: 'POST' })).status).toBe(410);
  expect(await statusOf('ann@example.org')).toEqual(['unsubscribed']);
});

test('a person gets three such mails a day at most', async () => {
  const lists = await Promise.all(Array.from({ length: 5 }, (_, n) => newDoubleList(`List ${n}`)));
  await Promise.all(lists.map((list) => add(list, 'bob@example.org')));
  expect(await mailsTo('bob@example.org', 3)).toHaveLength(3);
  await sleep(1_500);
  expect(await mailsTo('bob@example.org', 3)).toHaveLength(3);
});
