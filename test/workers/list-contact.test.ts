/** What a list says about its sender in mails: the contact (D49), the reminder (D62), and what stays when it is deleted (D57). */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const classic = await app.newTenant({ restDialect: 'classic' });
const { call, mailTo, newList, newCampaign, add, done } = mailWorld(app, owner);
const errorsOf = (answer: Awaited<ReturnType<typeof call>>) => [answer.status, Object(field(answer, 'errors'))];

async function graphql(query: string, variables: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return Object(await answer.json()).data;
}

test('classic leaves out contact and subject, and a campaign is told what the contact lacks (D49)', async () => {
  const bare = { name: 'Bare', from_email: 'news@sender.example', from_name: 'News' };
  const ask = (method: string, path: string, body: object = {}) => call(method, path, body, classic.token);
  expect(Object.keys(errorsOf(await call('POST', '/lists', bare))[1])).toContain('default_subject');
  const made = await ask('POST', '/lists', bare);
  expect(made.status, made.text).toBe(200);
  const list = String(field(made, 'list_uid'));
  expect(field(await ask('GET', `/lists/${list}`), 'contact')).toMatchObject({ company: '', country: '', email: '' });
  const given = await ask('POST', '/lists', {
    ...bare,
    contact: { default_subject: 'Hello', company: '', email: 'o@x.co' },
  });
  const shown = field(await ask('GET', `/lists/${String(field(given, 'list_uid'))}`), 'list');
  expect(shown).toMatchObject({ default_subject: 'Hello' });
  // What is given is checked.
  for (const contact of [{ email: 'x' }, { country_id: 9_999 }, { country_id: 'ZZ' }, { url: 'x' }]) {
    const [name = ''] = Object.keys(contact);
    expect(Object.keys(errorsOf(await ask('POST', '/lists', { ...bare, contact }))[1])).toEqual([`contact.${name}`]);
    expect(Object.keys(errorsOf(await ask('PATCH', `/lists/${list}`, { contact }))[1])).toEqual([`contact.${name}`]);
  }
  await ask('POST', '/subscribers', { list_uid: list, EMAIL: 'bare@person.example' });
  const campaign = String(
    field(
      await ask('POST', '/campaigns', {
        ...{ mail_list_uid: list, name: 'Spring', subject: 'Hi', from_email: 'n@sender.example', from_name: 'N' },
        html: '<p>Hello</p>',
      }),
      'campaign_uid',
    ),
  );
  const [status, errors] = errorsOf(await ask('POST', `/campaigns/${campaign}/run`));
  expect([status, errors]).toEqual([422, { contact: [expect.stringContaining('company, address_1, country_id')] }]);
  const contact = { company: 'Acme', address_1: '1 High St', country_id: 'gbr' };
  expect((await ask('PATCH', `/lists/${list}`, { contact })).status).toBe(200);
  expect(field(await ask('GET', `/lists/${list}`), 'contact')).toMatchObject({ country: 'United Kingdom' });
  expect((await ask('POST', `/campaigns/${campaign}/run`)).status).toBe(200);
});

test('the reminder stands in the footer once, with merge tags filled in and nothing of it as html (D62)', async () => {
  const list = await newList();
  const remind = 'You joined “{LIST_NAME}” as {FIRST_NAME}.\nWelcome & <b>thanks</b> {{ x';
  expect((await call('PATCH', `/lists/${list.uid}`, { remind_message: remind })).status).toBe(200);
  await add(list, 'ann@person.example', { FIRST_NAME: 'A<i>n' });
  const send = async (html: string, more: object = {}) => {
    const campaign = await newCampaign(list, { html, ...more });
    expect((await call('POST', `/campaigns/${campaign}/run`)).status).toBe(200);
    await done(campaign);
    return mailTo('ann@person.example');
  };
  const mail = await send('<p>Hello</p>');
  expect(mail.html).toContain('You joined “Friends” as A&lt;i&gt;n.<br>Welcome &amp; &lt;b&gt;thanks&lt;/b&gt; {{ x');
  expect(mail.text).toContain('You joined “Friends” as A<i>n.\nWelcome & <b>thanks</b> {{ x');
  expect(mail.html).not.toContain('You receive this email because');
  expect(mail.html?.indexOf('You joined')).toBeLessThan(mail.html?.indexOf('Unsubscribe') ?? 0);
  // The author has link and address already: only the reminder is added.
  const own = '<p><a href="{UNSUBSCRIBE_URL}">Out</a> {CONTACT_ADDRESS_1} {CONTACT_CITY}</p>';
  const second = await send(own, { name: 'Second', subject: 'Two' });
  expect(second.html?.split('You joined').length).toBe(2);
  expect(second.html).not.toContain('>Unsubscribe<');
  // The author has the reminder, too.
  const third = await send(
    `${own}<p>You joined “{LIST_NAME}” as {FIRST_NAME}. Welcome &amp; &lt;b&gt;thanks&lt;/b&gt; &#123;{ x</p>`,
    { name: 'Third', subject: 'Three' },
  );
  expect(third.html?.split('You joined').length).toBe(2);
  expect(third.text?.split('You joined').length).toBe(2);
});

test('a deleted list leaves the reports of its finished campaigns, with its name (D57)', async () => {
  const list = await newList();
  await add(list, 'kept@person.example');
  const sent = await newCampaign(list);
  const ready = await newCampaign(list, { name: 'Ready' });
  await call('POST', `/campaigns/${sent}/run`);
  await done(sent);
  const before = await call('GET', `/campaigns/${sent}`);
  expect(field(before, 'statistics')).toMatchObject({ subscriber_count: 1 });
  await app.ctx.db.execute(sql`UPDATE campaign SET status = 'scheduled' WHERE uid = ${ready}`);
  const refused = await call('DELETE', `/lists/${list.uid}`);
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('Ready')]);
  await app.ctx.db.execute(sql`UPDATE campaign SET status = 'ready' WHERE uid = ${ready}`);
  expect((await call('DELETE', `/lists/${list.uid}`)).status).toBe(200);
  await until(async () => {
    const left = await queryRows(app.ctx.db, sql`SELECT FROM hot.deletion`);
    return left.length === 0 ? true : undefined;
  });
  expect(await queryRows(app.ctx.db, sql`SELECT FROM subscriber WHERE list_id = ${list.id}`)).toEqual([]);

  expect((await call('GET', `/campaigns/${ready}`)).status).toBe(404);
  const after = await call('GET', `/campaigns/${sent}`);
  expect(after.body).toMatchObject({
    campaign: { list: 'Friends', status: 'done' },
    statistics: { subscriber_count: 1 },
  });
  expect(field(after, 'statistics', 'delivered_rate')).toEqual(field(before, 'statistics', 'delivered_rate'));
  expect(JSON.stringify(field(await call('GET', '/campaigns'), 'data'))).toContain(sent);
  const log = await call('GET', `/campaigns/${sent}/tracking-log/download`);
  expect([log.status, log.text]).toEqual([200, expect.stringContaining('kept@person.example')]);
  const twin = await graphql(
    `query ($uid: String!) { campaign(uid: $uid) { ... on Campaign { listName listUid list { uid } statistics { __typename } } } }`,
    { uid: sent },
  );
  expect(twin).toMatchObject({ campaign: { listName: 'Friends', listUid: list.uid, list: null } });
  // What needs the list says so.
  for (const [method, path] of [
    ['GET', 'preview'],
    ['POST', 'run'],
  ] as const)
    expect((await call(method, `/campaigns/${sent}/${path}`)).status, path).toBe(422);
  expect((await call('POST', '/campaigns', { ...LIST_BODY, list_uid: list.uid })).status).toBe(422);
  expect((await call('DELETE', `/campaigns/${sent}`)).status).toBe(200);
});

test('a list is not deleted while a campaign to it is being started (D57)', async () => {
  const list = await newList();
  const campaign = await newCampaign(list);
  const { database } = app.ctx;
  let deleting: ReturnType<typeof call> | undefined;
  await database.transaction(async (tx) => {
    // As a start does that has not committed yet.
    await tx.execute(
      sql`UPDATE campaign SET status = 'queued', snapshot_on = current_date, snapshot_at = now() WHERE uid = ${campaign}`,
    );
    deleting = call('DELETE', `/lists/${list.uid}`);
    await until(async () => {
      const waiting = await queryRows(
        app.ctx.db,
        sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return waiting.length > 0 ? true : undefined;
    });
  });
  expect((await deleting)?.status).toBe(422);
  expect((await call('GET', `/lists/${list.uid}`)).status).toBe(200);
});
