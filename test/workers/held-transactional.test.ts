/** Transactional mail that quiet hours hold back (D82, D94): the log says so, and when it is looked at next, beside the time that was asked for. */
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { messageIdOf, newUid } from '../../src/lib/ids.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer();
const app = await startRestApp({ ROLES: 'web,worker,cron', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
afterAll(() => smtp[Symbol.asyncDispose]());
const { db } = app.ctx;
const tenant = await app.newTenant();
const { customerId } = tenant;
await db.execute(sql`
  INSERT INTO sending_server (customer_id, uid, name, type, settings, status, default_from_email)
  VALUES (${customerId}, ${newUid()}, 'Server', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port: smtp.port, encryption: 'none' })}::jsonb, 'active', 'news@sender.example')`);
const { call, newList, add } = mailWorld(app, tenant);
const WAIT = { timeout: 120_000, interval: 50 };
const HOUR_MS = 3_600_000;

test('a held mail says why, when it is looked at next, and that it was to go at once; without the hours it goes', async () => {
  const list = await newList();
  const email = `ann-${customerId}@person.example`;
  await add(list, email);
  const hourIn = (hours: number) => `${String((new Date().getUTCHours() + 24 + hours) % 24).padStart(2, '0')}:00`;
  const quiet = async (quiet_hours: object | '') => {
    const answer = await call('PATCH', `/lists/${list.uid}`, { quiet_hours });
    expect(answer.status, answer.text).toBe(200);
  };
  // It is quiet for hours yet, whatever the time is.
  await quiet({ from: hourIn(-2), to: hourIn(5), timezone: 'UTC' });
  const texts = { name: 'News', subject: 'News', html: '<p>{UNSUBSCRIBE_URL}</p>', kind: 'marketing' };
  const template_uid = field(await call('POST', '/templates', texts), 'template_uid');
  const sent = await call('POST', '/transactional', { to: email, template_uid, list_uid: list.uid });
  expect(sent.status, sent.text).toBe(202);
  const uid = String(field(sent, 'mails', '0', 'uid'));
  const shown = async () => {
    const [one, all] = [await call('GET', `/transactional/${uid}`), await call('GET', `/transactional?email=${email}`)];
    const mail = field(one, 'transactional');
    expect(field(all, 'data')).toEqual([mail]);
    return mail as { state: string; reason: string | null; send_at: string | null; not_before: string | null };
  };
  const lookedAt = () =>
    queryRows<{ at: Date; isHeld: boolean }>(
      db,
      sql`SELECT updated_at AS at, reason = 'quiet_hours' AND not_before > now() AS "isHeld" FROM hot.delivery WHERE occurrence = ${messageIdOf(uid)}`,
    );
  await expect.poll(lookedAt, WAIT).toMatchObject([{ isHeld: true }]);
  const [first] = await lookedAt();
  // Once more: the time for which it was held does not become the time that was asked for.
  await db.execute(sql`UPDATE hot.message_queue SET not_before = now() WHERE message_id = ${messageIdOf(uid)}`);
  await expect
    .poll(async () => (await lookedAt()).map(({ at, isHeld }) => isHeld && first && at > first.at), WAIT)
    .toEqual([true]);
  const held = await shown();
  expect(held).toMatchObject({ state: 'queued', reason: expect.stringMatching(/quiet hours/i), send_at: null });
  expect(Date.parse(`${held.not_before}Z`) - Date.now()).toBeLessThanOrEqual(HOUR_MS);
  await quiet('');
  await expect.poll(async () => (await shown()).state, WAIT).toBe('sent');
  expect(await shown()).toMatchObject({ reason: null, send_at: null, not_before: null });
});
