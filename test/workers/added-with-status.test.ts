/**
 * The status with which somebody is added is obeyed (D48): by REST in both dialects, by GraphQL and by an import. Whoever is
 * added as unsubscribed or unconfirmed gets nothing: no confirmation, welcome, goodbye, and no campaign.
 */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { db } = app.ctx;
const { call, mailsTo, mailTo, newCampaign, done } = mailWorld(app, owner);

/** A list that sends every mail it can send. */
async function newList(more: object = {}): Promise<{ uid: string }> {
  const mails = { send_welcome_email: 1, send_goodbye_email: 1, unsubscribe_notification: 1 };
  const contact = { ...CONTACT, email: 'owner@owner.example' };
  return { uid: String(field(await call('POST', '/lists', { ...LIST_BODY, contact, ...mails, ...more }), 'list_uid')) };
}

const created = (list: { uid: string }, EMAIL: string, more: object, dialect = 'standard') =>
  app.rest('/subscribers', {
    ...{ method: 'POST', token: owner.token, headers: { 'X-Api-Dialect': dialect } },
    body: { list_uid: list.uid, EMAIL, ...more },
  });

interface GraphqlAnswer {
  data: Record<string, unknown>;
  errors?: { message: string }[];
}

async function graphqlAnswer(query: string, variables: object): Promise<GraphqlAnswer> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return (await answer.json()) as GraphqlAnswer;
}

const graphql = async (query: string, variables: object) => (await graphqlAnswer(query, variables)).data;

const personOf = async (list: { uid: string }, email: string) =>
  (
    await graphql(
      'query ($email: String!, $list: String!) { subscriber(subscriber: $email, listUid: $list) { ... on Subscriber { status consentEvents { status source ipAddress } } } }',
      { email, list: list.uid },
    )
  ).subscriber;

const ADD =
  'mutation ($input: AddSubscriberInput!) { addSubscriber(input: $input) { __typename ... on Subscriber { status } ... on ValidationError { fields { field messages } } } }';

/** No mail of a list is waiting or being sent. */
const listMailsOver = () =>
  until(async () => {
    const waiting = await queryRows(db, sql`SELECT 1 FROM hot.message_queue`);
    return waiting.length === 0 ? true : undefined;
  });

describe.each(['standard', 'classic'])('over REST, %s', (dialect) => {
  const of = (name: string) => `${name}@${dialect}.example`;

  test('unsubscribed and unconfirmed people get no mail, whatever the list and the campaign send', async () => {
    const list = await newList();
    for (const status of ['subscribed', 'unsubscribed', 'unconfirmed']) {
      const answer = await created(list, of(status), { status }, dialect);
      expect(answer).toMatchObject({
        status: dialect === 'classic' ? 200 : 201,
        body: { status: 1, message: 'Subscriber was successfully created' },
      });
      expect(await personOf(list, of(status))).toMatchObject({ status, consentEvents: [{ status, source: 'api' }] });
    }
    await created(list, of('default'), {}, dialect);
    const campaign = await newCampaign(list);
    expect((await call('POST', `/campaigns/${campaign}/run`)).status).toBe(200);
    await done(campaign);
    await listMailsOver();
    for (const name of ['subscribed', 'default']) {
      await mailTo(of(name));
      // The welcome and the campaign.
      expect(await mailsTo(of(name))).toHaveLength(2);
    }
    for (const name of ['unsubscribed', 'unconfirmed']) expect(await mailsTo(of(name))).toEqual([]);
  });

  test('on a double opt-in list only a wanted subscription is asked for', async () => {
    const list = await newList({ subscribe_confirmation: 1 });
    const expected = { subscribed: 'pending', unsubscribed: 'unsubscribed', unconfirmed: 'unconfirmed' };
    for (const [status, becomes] of Object.entries(expected)) {
      const { body } = await created(list, of(`double-${status}`), { status }, dialect);
      expect(Object(body).message).toBe(
        becomes === 'pending' ? 'Confirmation email sent to the subscriber' : 'Subscriber was successfully created',
      );
      expect(await personOf(list, of(`double-${status}`))).toMatchObject({ status: becomes });
    }
    await mailTo(of('double-subscribed'));
    await listMailsOver();
    for (const name of ['unsubscribed', 'unconfirmed']) expect(await mailsTo(of(`double-${name}`))).toEqual([]);
  });

  test('any other status is refused, and nobody is added', async () => {
    const list = await newList();
    for (const status of ['pending', 'Unsubscribed', 'opted out', '', 'null'])
      expect(await created(list, of('nobody'), { status }, dialect)).toMatchObject({
        status: 422,
        body: { errors: { status: [expect.stringContaining('status')] } },
      });
    expect(await personOf(list, of('nobody'))).toEqual({});
  });

  test('an address that is on the list keeps its status, whatever status is asked for', async () => {
    const list = await newList();
    await created(list, of('left'), { status: 'unsubscribed' });
    await created(list, of('stays'), {});
    for (const [name, asked] of [
      ['left', 'subscribed'],
      ['stays', 'unsubscribed'],
    ] as const) {
      const again = await created(list, of(name), { status: asked }, dialect);
      const errors = { EMAIL: ['The email has already been taken.'] };
      expect(again).toMatchObject(
        dialect === 'classic' ? { status: 403, body: errors } : { status: 422, body: { errors } },
      );
    }
    expect(await personOf(list, of('left'))).toMatchObject({ status: 'unsubscribed' });
    expect(await personOf(list, of('stays'))).toMatchObject({ status: 'subscribed' });
  });
});

test('all aliases obey it', async () => {
  const list = await newList();
  for (const [no, path] of [`/lists/${list.uid}/subscribers`, `/lists/${list.uid}/subscribers/store`].entries()) {
    const EMAIL = `alias${no}@aliases.example`;
    expect((await call('POST', path, { EMAIL, status: 'unsubscribed' })).status).toBe(201);
    expect(await personOf(list, EMAIL)).toMatchObject({ status: 'unsubscribed' });
  }
});

test('GraphQL obeys it alike', async () => {
  const list = await newList();
  const add = async (email: string, status: string) =>
    (await graphql(ADD, { input: { listUid: list.uid, email, status } })).addSubscriber;
  expect(await add('out@twin.example', 'unsubscribed')).toEqual({ __typename: 'Subscriber', status: 'unsubscribed' });
  expect(await add('no@twin.example', 'unconfirmed')).toEqual({ __typename: 'Subscriber', status: 'unconfirmed' });
  const asked = { listUid: list.uid, email: 'pending@twin.example', status: 'pending' };
  expect((await graphqlAnswer(ADD, { input: asked })).errors).toMatchObject([
    { message: expect.stringContaining('Value "pending" does not exist in "SettableSubscriberStatus" enum.') },
  ]);
  await listMailsOver();
  expect(await mailsTo('out@twin.example')).toEqual([]);
});

test('an import obeys its column, rejects other words, and nobody who left is brought back', async () => {
  const list = await newList();
  // A field with this label does not take the column away.
  const field1 = { type: 'text', label: 'Status', tag: 'MARITAL' };
  expect((await call('POST', `/lists/${list.uid}/add-field`, field1)).status).toBe(201);
  await created(list, 'left@import.example', { status: 'unsubscribed' });
  await created(list, 'leaving@import.example', {});
  // The welcome is sent to who is subscribed then.
  await mailTo('leaving@import.example');
  const lines = [
    'email,Status',
    ...['in', 'left'].map((name) => `${name}@import.example,subscribed`),
    ...['out', 'leaving'].map((name) => `${name}@import.example,unsubscribed`),
    'maybe@import.example,unconfirmed',
    'bounced@import.example,bounced',
  ];
  const form = new FormData();
  form.append('file', new Blob([lines.join('\n')]), 'people.csv');
  const begun = await app.rest(`/lists/${list.uid}/import`, { method: 'POST', body: form, token: owner.token });
  const path = `/lists/${list.uid}/imports/${String(field(begun, 'import_uid'))}`;
  const report = await until(async () => {
    const answer = await call('GET', path);
    return field(answer, 'import', 'status') === 'done' ? answer : undefined;
  });
  expect(field(report, 'import')).toMatchObject({ added: 3, updated: 1, rejected: 1 });
  expect((await call('GET', `${path}/rejected`)).text).toContain('“bounced” is no status');
  const expected = {
    in: 'subscribed',
    left: 'unsubscribed',
    out: 'unsubscribed',
    leaving: 'unsubscribed',
    maybe: 'unconfirmed',
  };
  for (const [name, status] of Object.entries(expected)) {
    const person = Object(await personOf(list, `${name}@import.example`));
    expect([name, person.status]).toEqual([name, status]);
    expect(person.consentEvents.at(-1)).toMatchObject({ status });
  }
  expect(await personOf(list, 'bounced@import.example')).toEqual({});
  const campaign = await newCampaign(list);
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  await listMailsOver();
  expect(await mailsTo('in@import.example')).toHaveLength(1);
  for (const name of ['out', 'left', 'maybe']) expect(await mailsTo(`${name}@import.example`)).toEqual([]);
  // The welcome when the person was added.
  expect(await mailsTo('leaving@import.example')).toHaveLength(1);

  // Exported and imported into another list, everybody has the same status.
  const other = await newList();
  const exported = (await call('GET', `/lists/${list.uid}/export`)).text;
  const again = new FormData();
  again.append('file', new Blob([exported]), 'export.csv');
  const second = await app.rest(`/lists/${other.uid}/import`, { method: 'POST', body: again, token: owner.token });
  const otherPath = `/lists/${other.uid}/imports/${String(field(second, 'import_uid'))}`;
  await until(async () => (field(await call('GET', otherPath), 'import', 'status') === 'done' ? true : undefined));
  for (const [name, status] of Object.entries(expected))
    expect(await personOf(other, `${name}@import.example`)).toMatchObject({ status });
});

test('an import obeys an opt-out also where other values of its line are wrong or missing, and reports these', async () => {
  const list = await newList();
  const addField = (body: object) => call('POST', `/lists/${list.uid}/add-field`, body);
  await addField({ type: 'datetime', label: 'Born', tag: 'BORN' });
  await created(list, 'wrong@out.example', { status: 'subscribed' });
  await addField({ type: 'text', label: 'City', tag: 'CITY', required: 1 });
  const file =
    'email,status,born\nwrong@out.example,unsubscribed,never\nnew@out.example,unsubscribed,\nin@out.example,,\n';
  const form = new FormData();
  form.append('file', new Blob([file]), 'out.csv');
  const begun = await app.rest(`/lists/${list.uid}/import`, { method: 'POST', body: form, token: owner.token });
  const path = `/lists/${list.uid}/imports/${String(field(begun, 'import_uid'))}`;
  await until(async () => (field(await call('GET', path), 'import', 'status') === 'done' ? true : undefined));
  for (const name of ['wrong', 'new'])
    expect(await personOf(list, `${name}@out.example`)).toMatchObject({ status: 'unsubscribed' });
  // Without a value in the required field.
  expect(await personOf(list, 'in@out.example')).toEqual({});
  expect((await call('GET', `${path}/rejected`)).text).toMatch(/BORN.*wrong@out\.example/s);
});
