/** Transactional mail from outside: a call over HTTP in, an SMTP dialogue out, and the log between them (decision D94). */
import { randomUUID } from 'node:crypto';
import PostalMime from 'postal-mime';
import { afterAll, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { KEPT_BYTES_MAX } from '../../src/domain/delivery/transactional/transactional.ts';
import { refuseTooMuchKept } from '../../src/domain/delivery/transactional/waiting.ts';
import { eraseOldContents } from '../../src/domain/messages/message-store.ts';
import { messageIdOf, newUid } from '../../src/lib/ids.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer();
const app = await startRestApp({ ROLES: 'web,worker,cron', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
afterAll(() => smtp[Symbol.asyncDispose]());
const { db } = app.ctx;

async function tenantWithServer(): Promise<RestTenant> {
  const tenant = await app.newTenant();
  await db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, status, default_from_email)
    VALUES (${tenant.customerId}, ${newUid()}, 'Server', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port: smtp.port, encryption: 'none' })}::jsonb, 'active', 'shop@sender.example')`);
  return tenant;
}
const owner = await tenantWithServer();
const stranger = await tenantWithServer();

interface Accepted {
  readonly email: string;
  readonly uid: string;
  readonly state: string;
  readonly reason: string | null;
}
const LETTER = {
  subject: 'Order {{ data.no }}',
  html: '<p>Hello {{ data.name }}</p>',
  from_email: 'shop@sender.example',
};
const call = (method: string, path: string, body?: object, more: { token?: string; key?: string } = {}) =>
  app.rest(path, {
    method,
    token: more.token ?? owner.token,
    ...(body ? { body } : {}),
    ...(more.key ? { headers: { 'Idempotency-Key': more.key } } : {}),
  });
async function send(body: object, key?: string): Promise<Accepted[]> {
  const answer = await call('POST', '/transactional', { ...LETTER, ...body }, key ? { key } : {});
  expect(answer.status, answer.text).toBe(202);
  return Reflect.get(Object(answer.body), 'mails');
}
const refusal = async (body: object, token = owner.token) => {
  const answer = await call('POST', '/transactional', { ...LETTER, to: 'x@person.example', ...body }, { token });
  return { status: answer.status, errors: Object(answer.body).errors, text: answer.text };
};
const mailOf = async (uid: string): Promise<Record<string, unknown>> => {
  const answer = await call('GET', `/transactional/${uid}`);
  expect(answer.status, answer.text).toBe(200);
  return Reflect.get(Object(answer.body), 'transactional');
};
const ended = (uid: string) =>
  vi.waitFor(
    async () => {
      const mail = await mailOf(uid);
      expect(['queued', 'sending', 'leased']).not.toContain(mail['state']);
      return mail;
    },
    { timeout: 120_000, interval: 50 },
  );
const sentTo = (email: string) => smtp.accepted.filter(({ to }) => to === email);
const template = async (more: object): Promise<string> => {
  const answer = await call('POST', '/templates', {
    name: 'Receipt',
    subject: 'Order {{ data.no }}',
    html: '<p>v1 {{ data.no }}</p>',
    ...more,
  });
  expect(answer.status, answer.text).toBe(201);
  return Object(answer.body).template_uid;
};

test('what is accepted is sent to each recipient with its data, headers and files', async () => {
  const mails = await send({
    to: [{ email: 'ann@person.example', data: { name: '<b>Ann</b> & co' } }, 'bob@person.example'],
    data: { no: 'A-1', name: 'you' },
    headers: { 'X-Order': 'Größe 7', References: '<a@x.example> <b@x.example>' },
    attachments: [{ name: 'bill.txt', content: Buffer.from('Ten euros.\n').toString('base64') }],
    ...{ from_name: 'Shop, the "best"', reply_to: 'help@sender.example', tags: ['receipt'] },
  });
  expect(mails.map(({ email, state }) => [email, state])).toEqual([
    ['ann@person.example', 'accepted'],
    ['bob@person.example', 'accepted'],
  ]);
  for (const { uid } of mails)
    expect(await ended(uid)).toMatchObject({ state: 'sent', attempts: 1, tags: ['receipt'] });
  const [ann] = sentTo('ann@person.example');
  const read = await PostalMime.parse(ann?.content ?? '');
  expect(read.subject).toBe('Order A-1');
  expect(read.html).toContain('Hello &lt;b&gt;Ann&lt;/b&gt; &amp; co');
  expect(read.headers.find(({ key }) => key === 'x-order')?.value).toBe('=?UTF-8?B?R3LDtsOfZSA3?=');
  expect(read.references).toBe('<a@x.example> <b@x.example>');
  expect(read.from).toMatchObject({ address: 'shop@sender.example', name: 'Shop, the "best"' });
  expect(read.replyTo?.[0]?.address).toBe('help@sender.example');
  expect(
    read.attachments.map(({ filename, content }) => [filename, Buffer.from(content as ArrayBuffer).toString()]),
  ).toEqual([['bill.txt', 'Ten euros.\n']]);
  expect((await PostalMime.parse(sentTo('bob@person.example')[0]?.content ?? '')).html).toContain('Hello you');
  const answer = await call('GET', '/transactional?tag=receipt&email=ANN@person.example&state=sent');
  expect(Object(answer.body)).toMatchObject({ data: [{ email: 'ann@person.example' }], meta: { total: 1 } });
});

test('each wrong field is named, and nothing is stored', async () => {
  const before = await queryRows(db, sql`SELECT id FROM hot.message`);
  const broken = 'a\r\nBcc: evil@evil.example';
  expect((await refusal({ to: [] })).errors).toHaveProperty('to');
  expect((await refusal({ to: [`a@person.example\r\nBcc: evil@evil.example`] })).errors).toHaveProperty(['to.0.email']);
  expect((await refusal({ to: ['a@person.example', 'A@person.example'] })).errors).toHaveProperty('to');
  expect((await refusal({ to: Array.from({ length: 51 }, (_, n) => `n${n}@person.example`) })).errors).toHaveProperty(
    'to',
  );
  // Each alone is within 64 KB; they are stored together.
  const half = (name: string) => ({ [name]: 'x'.repeat(40_000) });
  expect(
    (await refusal({ to: [{ email: 'x@person.example', data: half('a') }], data: half('b') })).errors,
  ).toMatchObject({ to: [expect.stringContaining('x@person.example')] });
  expect((await refusal({ from_email: undefined })).errors).toHaveProperty('from_email');
  expect((await refusal({ from_name: broken, reply_to: broken, tags: [broken], external_id: broken })).errors).toEqual({
    from_name: expect.anything(),
    reply_to: expect.anything(),
    'tags.0': expect.anything(),
    external_id: expect.anything(),
  });
  expect((await refusal({ subject: undefined, html: undefined })).errors).toMatchObject({
    subject: expect.anything(),
    html: expect.anything(),
  });
  expect((await refusal({ html: '{% if %}' })).errors).toHaveProperty('html');
  expect((await refusal({ data: { big: 'x'.repeat(70_000) } })).errors).toHaveProperty('data');
  expect((await refusal({ data: 'text' })).errors).toHaveProperty('data');
  expect((await refusal({ send_at: '2040-01-01 00:00:00' })).errors).toHaveProperty('send_at');
  expect((await refusal({ template_uid: '0123456789abc' })).errors).toHaveProperty('template_uid');
  for (const name of [
    'Bcc',
    'To',
    'From',
    'Return-Path',
    'X-SMTPAPI',
    'X-SES-Configuration-Set',
    'DKIM-Signature',
    'X Y',
    'Content-Type',
    '',
  ])
    expect((await refusal({ headers: { [name]: 'x' } })).status, name).toBe(422);
  expect((await refusal({ headers: { 'X-Order': broken } })).status).toBe(422);
  expect((await refusal({ headers: { 'In-Reply-To': 'no id' } })).status).toBe(422);
  for (const attachment of [
    { name: 'run.exe', content: 'AAAA' },
    { name: 'a.txt', content: '***' },
    { name: '..', content: 'AAAA' },
    { name: 'empty.txt', content: '' },
    { name: broken, content: 'AAAA' },
  ])
    expect((await refusal({ attachments: [attachment] })).status, attachment.name).toBe(422);
  expect(await queryRows(db, sql`SELECT id FROM hot.message`)).toEqual(before);
});

test('of fifty equal calls at once one is stored; another call with the key is refused', async () => {
  const key = randomUUID();
  const body = { ...LETTER, to: 'once@person.example' };
  const answers = await Promise.all(Array.from({ length: 50 }, () => call('POST', '/transactional', body, { key })));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(202);
  expect((await call('POST', '/transactional', { ...body, subject: 'Other' }, { key })).status).toBe(422);
  const races = await Promise.all(
    Array.from({ length: 50 }, () => send({ to: 'named@person.example', external_id: 'order-7' })),
  );
  expect(new Set(races.map(([one]) => one?.uid)).size).toBe(1);
  expect(races.flat().filter(({ state }) => state === 'accepted')).toHaveLength(1);
  expect(races.flat().filter(({ state }) => state === 'duplicate')).toHaveLength(49);
  await ended(races[0]?.[0]?.uid ?? '');
  expect(sentTo('named@person.example')).toHaveLength(1);
  // The name is of a template and an address.
  const [other] = await send({ to: 'other@person.example', external_id: 'order-7' });
  expect(other?.state).toBe('accepted');
});

test('the kind of the template decides who gets a mail', async () => {
  const list = await call('POST', '/lists', LIST_BODY);
  const list_uid = Object(list.body).list_uid;
  for (const EMAIL of ['in@person.example', 'left@person.example'])
    await call('POST', '/subscribers', { list_uid, EMAIL });
  await call('PATCH', `/lists/${list_uid}/subscribers/email/left@person.example/unsubscribe`);
  for (const [email, reason] of [
    ['bad@person.example', 'bounce'],
    ['angry@person.example', 'complaint'],
  ])
    await db.execute(
      sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (${owner.customerId}, ${email}, ${reason})`,
    );
  const to = [
    'in@person.example',
    'left@person.example',
    'bad@person.example',
    'angry@person.example',
    'new@person.example',
  ];
  const receipt = await send({
    ...NO_TEXTS,
    to,
    template_uid: await template({ kind: 'transactional' }),
    data: { no: 5 },
  });
  expect(receipt.map(({ state, reason }) => [state, reason])).toEqual([
    ['accepted', null],
    ['accepted', null],
    ['suppressed', 'bounce'],
    ['suppressed', 'complaint'],
    ['accepted', null],
  ]);
  for (const [no, { uid }] of receipt.entries())
    expect((await ended(uid))['state']).toBe(no === 2 || no === 3 ? 'suppressed' : 'sent');
  const news = await template({ kind: 'marketing' });
  expect((await refusal({ ...NO_TEXTS, template_uid: news })).errors).toHaveProperty('list_uid');
  const letters = await send({ ...NO_TEXTS, from_email: undefined, to, template_uid: news, list_uid });
  expect(letters.map(({ state, reason }) => [state, reason])).toEqual([
    ['accepted', null],
    ['suppressed', 'unsubscribed'],
    ['suppressed', 'not_on_list'],
    ['suppressed', 'not_on_list'],
    ['suppressed', 'not_on_list'],
  ]);
  expect(await ended(letters[0]?.uid ?? '')).toMatchObject({ state: 'sent', list_uid, template_uid: news });
  expect(await ended(letters[1]?.uid ?? '')).toMatchObject({ state: 'skipped', reason: 'unsubscribed' });
  // Nobody waits for the letter: it goes as mails of flows do, and takes a credit; receipts take none.
  expect(
    await queryRows(
      db,
      sql`SELECT m.kind, m.priority, c.sent::int FROM hot.message m
            LEFT JOIN hot.delivery_counter c ON c.customer_id = m.customer_id AND c.source_kind = m.source_kind AND c.source_id = m.source_id
           WHERE m.id = ANY (${[receipt[0], letters[0]].map((one) => messageIdOf(one?.uid ?? '') ?? 0n)}::bigint[]) ORDER BY m.id`,
    ),
  ).toEqual([
    { kind: 'transactional', priority: 10, sent: null },
    { kind: 'marketing', priority: 30, sent: 1 },
  ]);
  const [mail] = sentTo('in@person.example').slice(-1);
  const unsubscribe = /List-Unsubscribe:\s+<([^>]+)>/.exec(mail?.content ?? '')?.[1] ?? '';
  await fetch(unsubscribe, { method: 'POST', body: 'List-Unsubscribe=One-Click' });
  const [again] = await send({
    ...NO_TEXTS,
    from_email: undefined,
    to: 'in@person.example',
    template_uid: news,
    list_uid,
  });
  expect(again).toMatchObject({ state: 'suppressed', reason: 'unsubscribed' });
  expect(await queryRows(db, sql`SELECT 1 FROM subscriber WHERE email = 'new@person.example'`)).toEqual([]);
  await send({ to: 'new@person.example', list_uid, upsert_subscriber: 1 });
  expect(await queryRows(db, sql`SELECT status FROM subscriber WHERE email = 'new@person.example'`)).toEqual([
    { status: 'unconfirmed' },
  ]);
});
const NO_TEXTS = { subject: undefined, html: undefined };

test('a scheduled mail has the template as it is then, holds it, and can be cancelled and sent again', async () => {
  const uid = await template({ kind: 'transactional' });
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const body = { ...NO_TEXTS, template_uid: uid, data: { no: 9 }, send_at: soon };
  const [mail] = await send({ ...body, to: 'later@person.example' });
  const [held] = await send({ ...body, to: 'held@person.example' });
  expect([mail?.state, (await mailOf(mail?.uid ?? ''))['state']]).toEqual(['scheduled', 'queued']);
  expect((await call('DELETE', `/templates/${uid}`)).status).toBe(422);
  await call('PATCH', `/templates/${uid}`, { html: '<p>v2 {{ data.no }}</p>' });
  expect((await call('POST', `/transactional/${mail?.uid}/resend`)).status).toBe(422);
  expect((await call('DELETE', `/transactional/${mail?.uid}`)).status).toBe(200);
  expect(await mailOf(mail?.uid ?? '')).toMatchObject({
    state: 'skipped',
    reason: 'cancelled before it was sent',
    attempts: 0,
  });
  expect((await call('DELETE', `/transactional/${mail?.uid}`)).status).toBe(422);
  await db.execute(
    sql`UPDATE hot.message_queue SET not_before = now() WHERE message_id = ${messageIdOf(held?.uid ?? '')}`,
  );
  expect(await ended(held?.uid ?? '')).toMatchObject({ state: 'sent' });
  expect(sentTo('held@person.example')[0]?.content).toContain('v2 9');
  expect(sentTo('later@person.example')).toEqual([]);
  const resent = await call('POST', `/transactional/${held?.uid}/resend`);
  expect(resent.status, resent.text).toBe(202);
  expect(await ended(Object(resent.body).transactional_uid)).toMatchObject({
    state: 'sent',
    email: 'held@person.example',
  });
  expect(sentTo('held@person.example')).toHaveLength(2);
  expect((await call('DELETE', `/transactional/${held?.uid}`)).status).toBe(422);
  expect((await call('DELETE', `/templates/${uid}`)).status).toBe(200);
  const gone = await call('POST', `/transactional/${held?.uid}/resend`);
  expect([gone.status, gone.text]).toEqual([422, expect.stringContaining('The template of the mail was deleted')]);
  expect(sentTo('held@person.example')).toHaveLength(2);
});

test('content and files are erased after seven days, and then nothing can be sent again', async () => {
  const attachments = [{ name: 'bill.pdf', content: Buffer.from('%PDF-1.4 x').toString('base64') }];
  const [mail] = await send({ to: 'old@person.example', attachments });
  const uid = mail?.uid ?? '';
  expect(await ended(uid)).toMatchObject({ state: 'sent', content_kept: true });
  const again = await call('POST', `/transactional/${uid}/resend`);
  await ended(Object(again.body).transactional_uid);
  expect(sentTo('old@person.example').map(({ content }) => content.includes('bill.pdf'))).toEqual([true, true]);
  await db.execute(sql`UPDATE hot.message SET created_at = now() - interval '8 days' WHERE id = ${messageIdOf(uid)}`);
  expect(await eraseOldContents(db)).toBe(1);
  expect(await queryRows(db, sql`SELECT 1 FROM hot.message_file WHERE message_id = ${messageIdOf(uid)}`)).toEqual([]);
  expect(await mailOf(uid)).toMatchObject({ state: 'sent', content_kept: false });
  expect((await call('POST', `/transactional/${uid}/resend`)).status).toBe(422);
});

test('opens and clicks of an address without a list are counted when asked for', async () => {
  const [mail] = await send({
    to: 'reader@person.example',
    html: '<a href="https://shop.example/x">look</a>',
    track_opens: 1,
    track_clicks: 1,
  });
  const uid = mail?.uid ?? '';
  await ended(uid);
  const { html } = await PostalMime.parse(sentTo('reader@person.example')[0]?.content ?? '');
  const [, click = ''] = /href="([^"]+\/c\/[^"]+)"/.exec(html || '') ?? [];
  const [, pixel = ''] = /src="([^"]+\/o\/[^"]+)"/.exec(html || '') ?? [];
  const answer = await fetch(click, { redirect: 'manual' });
  expect(answer.headers.get('location')).toBe('https://shop.example/x');
  expect((await fetch(pixel)).status).toBe(200);
  await vi.waitFor(async () => expect(await mailOf(uid)).toMatchObject({ open_count: 1, click_count: 1 }), {
    timeout: 120_000,
  });
});

test('attachments of two gigabytes at most are kept, for each customer', async () => {
  const { customerId, token } = await tenantWithServer();
  const attachments = [{ name: 'bill.txt', content: Buffer.from('Ten euros.\n').toString('base64') }];
  const to = ['one@person.example', 'two@person.example'];
  expect((await call('POST', '/transactional', { ...LETTER, to, attachments }, { token })).status).toBe(202);
  await refuseTooMuchKept(db, customerId, KEPT_BYTES_MAX - 22);
  await expect(refuseTooMuchKept(db, customerId, KEPT_BYTES_MAX - 21)).rejects.toMatchObject({
    ...{ code: 'TOO_MANY_ATTACHMENTS', message: expect.stringContaining('2 GB') },
  });
  await refuseTooMuchKept(db, stranger.customerId, KEPT_BYTES_MAX);
});

test('nothing more is sent for a customer that was disabled', async () => {
  const { customerId, token } = await tenantWithServer();
  const send_at = new Date(Date.now() + 3_600_000).toISOString();
  const answer = await call('POST', '/transactional', { ...LETTER, to: 'late@person.example', send_at }, { token });
  const [{ uid }] = Reflect.get(Object(answer.body), 'mails');
  await db.execute(sql`UPDATE customer SET status = 'disabled' WHERE id = ${customerId}`);
  const id = messageIdOf(uid) ?? 0n;
  await db.execute(sql`UPDATE hot.message_queue SET not_before = now() WHERE message_id = ${id}`);
  await expect
    .poll(() => queryRows(db, sql`SELECT state::text AS state, reason FROM hot.delivery WHERE occurrence = ${id}`), {
      timeout: 120_000,
    })
    .toEqual([{ state: 'skipped', reason: 'source_deleted' }]);
  expect(sentTo('late@person.example')).toEqual([]);
});

test('a mail is its customer’s own, and needs its scopes', async () => {
  const [mail] = await send({ to: 'mine@person.example', external_id: 'mine' });
  const uid = mail?.uid ?? '';
  const theirs = { token: stranger.token };
  expect((await call('GET', `/transactional/${uid}`, undefined, theirs)).status).toBe(404);
  expect((await call('DELETE', `/transactional/${uid}`, undefined, theirs)).status).toBe(404);
  expect((await call('POST', `/transactional/${uid}/resend`, undefined, theirs)).status).toBe(404);
  expect(Object((await call('GET', '/transactional', undefined, theirs)).body).data).toEqual([]);
  const foreign = await template({ kind: 'transactional' });
  expect((await refusal({ ...NO_TEXTS, template_uid: foreign }, stranger.token)).text).not.toContain('Receipt');
  expect((await refusal({ ...NO_TEXTS, template_uid: foreign }, stranger.token)).status).not.toBe(202);
  const scoped = async (scopes: string[]) =>
    String(
      Object(
        (await call('POST', '/api_tokens', { name: scopes.join(), scopes, current_password: owner.password })).body,
      ).token ?? '',
    );
  const sender = await scoped(['transactional:send']);
  expect((await refusal({}, sender)).status).toBe(202);
  expect((await call('GET', '/transactional', undefined, { token: sender })).status).toBe(403);
  expect((await refusal({ file_uids: ['0123456789abc'] }, sender)).status).toBe(403);
  expect((await refusal({}, await scoped(['transactional:read', 'campaigns:write']))).status).toBe(403);
});
