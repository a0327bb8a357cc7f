/** Tests of templates, from the request to the mailbox: as an automation would send them, with links that belong to nobody. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { composeTemplateTest } from '../../src/domain/delivery/flow-mails/test-template.ts';
import { newUid } from '../../src/lib/ids.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { call, mailTo, newList, add, here } = mailWorld(app, owner);

const TEXTS = {
  subject: 'Order {{ data.no }} of {FIRST_NAME}',
  html: '<p>{FIRST_NAME} {{ payload.total }} {% for one in data.items %}[{{ one }}]{% endfor %} <a href="https://shop.example/">go</a></p>',
};
async function newTemplate(more: object = {}, tenant: RestTenant = owner): Promise<string> {
  const answer = await call('POST', '/templates', { name: 'Order', ...TEXTS, ...more }, tenant.token);
  expect(answer.status, answer.text).toBe(201);
  return String(field(answer, 'template_uid'));
}
const ask = (uid: string, body: object, token = owner.token) => call('POST', `/templates/${uid}/test`, body, token);
const messageOf = async (uid: unknown) => field(await call('GET', `/messages/${String(uid)}`), 'message');

test('a test has the list’s sender, its reader’s values and the sample data, and is in the ledger as a test', async () => {
  const list = await newList();
  const cara = await add(list, 'cara@template.example', { FIRST_NAME: 'Cara' });
  const uid = await newTemplate();
  const asked = await ask(uid, {
    ...{ list_uid: list.uid, emails: 'boss@template.example, cara@template.example' },
    ...{ data: { no: 7, items: ['<b>', 'cup'] }, payload: { total: 12.5 } },
  });
  expect(asked.status, asked.text).toBe(201);
  const [forBoss, forCara] = [await mailTo('boss@template.example'), await mailTo('cara@template.example')];
  expect([forBoss.subject, forCara.subject]).toEqual(['[Test] Order 7 of', '[Test] Order 7 of Cara']);
  expect(forCara.html).toContain('Cara 12.5 [&lt;b&gt;][cup]');
  const shown = field(await call('GET', `/lists/${list.uid}`), 'list');
  expect(forCara.from?.address).toBe(field({ ...asked, body: shown }, 'from_email'));
  expect(forCara.headers.map(({ key }) => key)).toContain('list-unsubscribe');
  const click = /href="([^"]+)"/.exec(forCara.html ?? '')?.[1];
  expect((await fetch(here(click), { redirect: 'manual' })).headers.get('location')).toBe('https://shop.example/');
  const tests = field(asked, 'tests');
  const uids = Array.isArray(tests) ? tests.map((one) => Reflect.get(Object(one), 'message_uid')) : [];
  expect(tests).toMatchObject([{ email: 'boss@template.example' }, { email: 'cara@template.example' }]);
  const sent = await until(async () => {
    const messages = await Promise.all(uids.map(messageOf));
    return messages.every((one) => Reflect.get(Object(one), 'state') === 'sent') ? messages : undefined;
  });
  expect(sent).toMatchObject([
    { email: 'boss@template.example', purpose: 'test' },
    { email: 'cara@template.example', purpose: 'test' },
  ]);

  await ask(uid, { list_uid: list.uid, emails: ['plain@template.example'], subscriber: cara, mark_subject: 0 });
  expect((await mailTo('plain@template.example')).subject).toBe('Order  of Cara');
  const [ledger] = await queryRows<{ kinds: number[] }>(
    app.ctx.db,
    sql`SELECT array_agg(DISTINCT source_kind::int) AS kinds FROM hot.delivery WHERE customer_id = ${owner.customerId}`,
  );
  expect(ledger?.kinds).toEqual([5]);
});

test('what is wrong is said, and nothing is sent', async () => {
  const [list, uid, stranger] = [await newList(), await newTemplate(), await app.newTenant()];
  const body = { list_uid: list.uid, emails: 'x@wrong.example' };
  const foreign = await newTemplate({}, stranger);
  const errorsOf = async (more: object) => {
    const answer = await ask(uid, { ...body, ...more });
    expect(answer.status, answer.text).toBe(422);
    return Object.keys(Object(field(answer, 'errors')));
  };
  expect(await errorsOf({ emails: [] })).toEqual(['emails']);
  expect(await errorsOf({ emails: 'nobody' })).toEqual(['emails.0']);
  expect(await errorsOf({ emails: Array.from({ length: 11 }, (_, no) => `${no}@wrong.example`) })).toEqual(['emails']);
  expect(await errorsOf({ list_uid: '' })).toEqual(['list_uid']);
  expect(await errorsOf({ data: 'text' })).toEqual(['data']);
  expect(await errorsOf({ payload: { text: 'x'.repeat(70_000) } })).toEqual(['payload']);
  await app.ctx.db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (${owner.customerId}, 'gone@wrong.example', 'manual')`,
  );
  const refused = await ask(uid, { ...body, emails: 'gone@wrong.example' });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('gone@wrong.example is suppressed')]);
  expect((await ask(foreign, body)).status).toBe(403);
  expect((await ask(uid, { ...body, list_uid: (await newList(stranger)).uid })).status).toBe(403);
  const other = await newList();
  const elsewhere = await add(other, 'eve@other.example');
  expect(await errorsOf({ subscriber: elsewhere })).toEqual(['subscriber']);
  const narrow = await call('POST', '/api_tokens', { name: 'narrow', scopes: ['templates:write'] });
  const answer = await ask(uid, body, String(field(narrow, 'token')));
  expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('lists:read')]);
  expect(
    await queryRows(
      app.ctx.db,
      sql`SELECT 1 FROM hot.message m WHERE m.purpose = 'test' AND m.content ->> 'templateUid' = ${uid}`,
    ),
  ).toEqual([]);
});

test('a test whose template or list was deleted meanwhile is not composed', async () => {
  const [list, uid] = [await newList(), await newTemplate()];
  const content = { ...{ templateUid: uid, listUid: list.uid, subscriberId: null }, isMarked: true };
  const key = { customerId: owner.customerId, sourceKind: 5, sourceId: 0n, recipientId: 1n, occurrence: 1n };
  const compose = (more: object) =>
    composeTemplateTest(app.ctx, {
      ...{ key, email: 'x@gone.example' },
      content: { ...content, data: null, payload: null, ...more },
    });
  expect(await compose({})).toHaveProperty('email', 'x@gone.example');
  expect(await compose({ listUid: newUid() })).toEqual({ skip: 'source_deleted' });
  expect(await compose({ templateUid: newUid() })).toEqual({ skip: 'template_deleted' });
});
