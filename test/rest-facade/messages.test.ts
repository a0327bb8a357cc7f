/** The log of messages that are not of a campaign: each with what became of it, for its customer only. */
import { expect, test, vi } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const stranger = await app.newTenant();

const call = (method: string, path: string, body: object = {}) =>
  app.rest(path, { method, token: owner.token, ...(method === 'GET' ? {} : { body }) });
const list = async (more: object): Promise<string> => {
  const answer = await call('POST', '/lists', { ...LIST_BODY, ...more });
  expect(answer.status, answer.text).toBe(201);
  return String(Reflect.get(Object(answer.body), 'list_uid'));
};
const messages = async (query = ''): Promise<Record<string, unknown>[]> =>
  Reflect.get(Object((await call('GET', `/messages${query}`)).body), 'data');
const ended = () =>
  vi.waitFor(
    async () => {
      const open = await app.ctx.db.execute(sql`SELECT 1 FROM hot.message_queue`);
      expect(open).toBe(0);
    },
    { timeout: 120_000 },
  );

test('says of each mail of a list what became of it, and why not', async () => {
  const listUid = await list({ subscribe_confirmation: 1 });
  const greeting = await list({ send_welcome_email: 1 });
  const add = (list_uid: string, EMAIL: string) => call('POST', '/subscribers', { list_uid, EMAIL });
  await add(listUid, 'ann@person.example');
  await add(greeting, 'bob@person.example');
  await ended();
  // In one transaction nothing is sent before both are true.
  await app.ctx.database.transaction(async (tx) => {
    await tx.execute(sql`
      SELECT hot.enqueue_messages(ARRAY[customer_id], ARRAY[4]::smallint[], ARRAY[list_id], ARRAY[id], ARRAY[NULL], ARRAY[NULL], ARRAY[list_id],
        ARRAY[20]::smallint[], ARRAY['optional'], ARRAY['welcome'], ARRAY['subscribed'], ARRAY['by hand'], ARRAY['{"eventId": "1"}']::jsonb[], ARRAY[NULL]::timestamptz[])
        FROM subscriber WHERE email = 'bob@person.example'`);
    await tx.execute(sql`INSERT INTO suppression (customer_id, email_key, reason)
                         SELECT customer_id, email_key, 'bounce' FROM subscriber WHERE email = 'bob@person.example'`);
  });
  await ended();
  expect(await messages()).toMatchObject([
    { purpose: 'welcome', email: 'bob@person.example', state: 'suppressed', reason: 'suppressed', attempts: 0 },
    { purpose: 'welcome', email: 'bob@person.example', state: 'sent', list_uid: greeting, kind: 'optional' },
    { purpose: 'confirmation', email: 'ann@person.example', state: 'sent', list_uid: listUid, ambiguous_count: 0 },
  ]);
  expect((await messages('?purpose=confirmation')).map(({ email }) => email)).toEqual(['ann@person.example']);
  expect(await messages('?state=suppressed')).toHaveLength(1);
  expect(await messages('?email=BOB@person.example')).toHaveLength(2);
  expect(await messages('?email=nobody@person.example')).toEqual([]);
  expect((await call('GET', '/messages?purpose=letter')).status).toBe(422);
});

test('is the customer’s own', async () => {
  const [message] = await messages();
  const uid = String(message?.['uid']);
  expect((await call('GET', `/messages/${uid}`)).body).toMatchObject({ message: { uid, reply: null } });
  const theirs = await app.rest('/messages', { token: stranger.token });
  expect(Reflect.get(Object(theirs.body), 'data')).toEqual([]);
  expect((await app.rest(`/messages/${uid}`, { token: stranger.token })).status).toBe(404);
  expect((await call('GET', '/messages/0123456789abc')).status).toBe(404);
});
