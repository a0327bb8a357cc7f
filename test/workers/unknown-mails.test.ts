/** Mails of automations whose outcome nobody knows: their owner decides, over REST, whether they were sent (HARD-CASES A16). */
import { afterAll, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { allowanceOf } from '../../src/domain/billing/plans/allowance.ts';
import { sendUsage } from '../../src/domain/sending/send-budget-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { automationRest, line } from '../support/automation-rest.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { givePlan } from '../support/plans.ts';
import { startRestApp } from '../support/rest-app.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';

/** The server has a message to one of these, and its answer never comes. */
const unanswered = new Set<string>();
const taken: string[] = [];
const smtp = await scriptedSmtpServer({
  answer: ({ verb, session }) => {
    if (verb !== 'CONTENT') return undefined;
    const to = session.to ?? '';
    taken.push(to);
    if (!unanswered.has(to)) return undefined;
    session.socket.destroy();
    return null;
  },
});
const app = await startRestApp({ ROLES: 'web,worker,cron', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
afterAll(() => smtp[Symbol.asyncDispose]());
const { db } = app.ctx;
const WAIT = { timeout: 120_000, interval: 50 };
const tenant = await app.newTenant();
const { customerId, token } = tenant;
await db.execute(sql`
  INSERT INTO sending_server (customer_id, uid, name, type, settings, status, default_from_email)
  VALUES (${customerId}, ${newUid()}, 'Server', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port: smtp.port, encryption: 'none' })}::jsonb, 'active', 'news@sender.example')`);
await givePlan(db, customerId, {
  ...{ sending_server_option: 'own', email_max: '1000' },
  ...{ sending_quota: '1000', sending_quota_time: '1', sending_quota_time_unit: 'day' },
});
const mail = mailWorld(app, tenant);
const { call } = mail;
const list = await mail.newList();
const template = await call('POST', '/templates', {
  ...{ name: 'News', subject: 'News', html: '<p>News</p>', kind: 'marketing' },
});
const automations = automationRest(app, { token, listUid: list.uid });
const automation = await automations.active({
  triggers: [{ type: 'execute' }],
  nodes: [{ id: 'mail', type: 'send_mail', templateUid: field(template, 'template_uid') }],
  edges: line('start', 'mail'),
});

const email = (name: string) => `${name}@person.example`;
const stateOf = async (uid: string) => {
  const { state, reason } = field(await call('GET', `/messages/${uid}`), 'message') as Record<string, string>;
  return [state, reason];
};
const decide = (uid: string, decision: string, as = token) =>
  app.rest(`/messages/${uid}/decide`, { method: 'POST', token: as, body: { decision } });
const isSent = (uid: string) => vi.waitFor(async () => expect((await stateOf(uid))[0]).toBe('sent'), WAIT);
const counters = async () => {
  const [row] = await queryRows<Record<'audience' | 'sent' | 'unknown', number>>(
    db,
    sql`SELECT audience, sent, unknown FROM hot.delivery_counter WHERE customer_id = ${customerId} AND source_kind = 2`,
  );
  return row ?? { audience: 0, sent: 0, unknown: 0 };
};
const usage = async () => {
  const { creditsUsed, quotaUsed } = await sendUsage(db, customerId, await allowanceOf(db, customerId));
  return { creditsUsed, quotaUsed };
};
/** How often the server had a mail to each. */
const copies = (names: readonly string[]) => names.map((name) => taken.filter((to) => to === email(name)).length);

/** Uids of mails to new people whose outcome is unknown; the server answers from now on. */
async function unknownMails(names: readonly string[]): Promise<string[]> {
  for (const name of names) {
    unanswered.add(email(name));
    await mail.add(list, email(name));
    const entered = await call('POST', `/automations/${automation}/execute`, { email: email(name) });
    expect(entered.status, entered.text).toBe(200);
  }
  const found = async () =>
    new Map(
      (field(await call('GET', '/messages?purpose=flow&state=unknown'), 'data') as Record<string, string>[]).map(
        (one) => [one['email'], String(one['uid'])] as const,
      ),
    );
  const uids = await vi.waitFor(async () => {
    const unknown = await found();
    expect([...unknown.keys()]).toEqual(expect.arrayContaining(names.map(email)));
    return unknown;
  }, WAIT);
  unanswered.clear();
  return names.map((name) => uids.get(email(name)) ?? '');
}

test('an unknown outcome waits for its owner, who counts the mail as sent, or sends it again', async () => {
  const names = ['ann', 'bea', 'carl'];
  const [ann = '', bea = '', carl = ''] = await unknownMails(names);
  expect(await counters()).toEqual({ audience: 3, sent: 0, unknown: 3 });
  expect((await decide(ann, 'perhaps')).status).toBe(422);
  expect((await decide(ann, 'resend', (await app.newTenant()).token)).status).toBe(404);

  const accepted = await decide(ann, 'accept');
  expect(accepted.status, accepted.text).toBe(200);
  expect(await stateOf(ann)).toEqual(['sent', expect.stringMatching(/by hand/)]);
  expect(await counters()).toEqual({ audience: 3, sent: 1, unknown: 2 });
  const again = await decide(ann, 'resend');
  expect([again.status, again.text]).toEqual([422, expect.stringContaining('this one is sent')]);

  const resent = await decide(bea, 'resend');
  expect(resent.status, resent.text).toBe(200);
  // What holds mails back for days counts from now on.
  expect(field(resent, 'message', 'send_at')).not.toBeNull();
  await isSent(bea);
  expect(await counters()).toEqual({ audience: 3, sent: 2, unknown: 1 });
  // Both copies count for the pace of sending, and one takes a credit.
  expect(await usage()).toEqual({ creditsUsed: 3, quotaUsed: 4 });

  // What it said is kept for a week.
  await db.execute(sql`UPDATE hot.message SET content = NULL WHERE customer_id = ${customerId}`);
  const erased = await decide(carl, 'resend');
  expect([erased.status, erased.text]).toEqual([422, expect.stringContaining('was erased')]);
  const mutation =
    'mutation ($uid: String!) { decideUnknownMessage(uid: $uid, decision: accept) { ... on Message { uid state } } }';
  expect(await automations.graphql(mutation, { uid: carl })).toEqual({
    data: { decideUnknownMessage: { uid: carl, state: 'sent' } },
  });
  expect(await counters()).toEqual({ audience: 3, sent: 3, unknown: 0 });
  expect(copies(names)).toEqual([1, 2, 1]);
});

test('of several decisions at the same time one counts', async () => {
  const before = await counters();
  const [dora = ''] = await unknownMails(['dora']);
  const answers = await Promise.all(['resend', 'resend', 'resend'].map((decision) => decide(dora, decision)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 422, 422]);
  await isSent(dora);
  expect(await counters()).toEqual({ ...before, audience: before.audience + 1, sent: before.sent + 1 });
  expect(copies(['dora'])).toEqual([2]);
});

test('nothing is sent again to whoever has left the list or is suppressed, and a paused automation holds it', async () => {
  const names = ['eve', 'finn', 'gil'];
  const [eve = '', finn = '', gil = ''] = await unknownMails(names);
  const before = await counters();
  expect((await call('PATCH', `/lists/${list.uid}/subscribers/email/${email('eve')}/unsubscribe`)).status).toBe(200);
  expect((await call('POST', '/suppressions', { email: email('finn') })).status).toBeLessThan(300);
  for (const uid of [eve, finn]) expect((await decide(uid, 'resend')).status).toBe(200);
  await vi.waitFor(async () => expect((await stateOf(eve))[0]).toBe('skipped'), WAIT);
  await vi.waitFor(async () => expect((await stateOf(finn))[0]).toBe('suppressed'), WAIT);
  expect(await counters()).toEqual({ ...before, audience: before.audience - 2, unknown: before.unknown - 2 });

  expect((await call('POST', `/automations/${automation}/pause`)).status).toBe(200);
  expect((await decide(gil, 'resend')).status).toBe(200);
  await vi.waitFor(
    async () => expect(await stateOf(gil)).toEqual(['queued', expect.stringContaining('is stopped')]),
    WAIT,
  );
  expect(copies(names)).toEqual([1, 1, 1]);
  expect((await call('POST', `/automations/${automation}/activate`)).status).toBe(200);
  await isSent(gil);
  expect(copies(names)).toEqual([1, 1, 2]);
});
