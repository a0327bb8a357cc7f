/** Customers' webhooks in the running program: opens, clicks and unsubscribes of mails, people of lists, campaigns (specification 6.2, D25, D93). */
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import {
  kindOfEvent,
  WEBHOOK_EVENTS,
  webhookEventNames,
  type WebhookEvent,
} from '../../src/domain/webhooks/webhook-events.ts';
import { mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { webhookReceiver, type ReceivedHook, type WebhookReceiver } from '../support/webhook-receiver.ts';

const app = await startRestApp({
  ...{ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' },
  OUTBOUND_ALLOW_HOSTS: '127.0.0.1',
});
const { db } = app.ctx;
const owner = await app.newTenant();
const { call, here, newList, newCampaign, add, done, mailTo } = mailWorld(app, owner);
const WAIT = { timeout: 120_000, interval: 100 };
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };
const PROGRAM = { 'user-agent': 'python-requests/2.32' };

interface Made {
  readonly webhook_uid: string;
  readonly secret: string;
  readonly webhook: Readonly<Record<string, unknown>>;
}

/** Its path at the receiver is the event, and a word. */
async function hook(
  receiver: WebhookReceiver,
  event: WebhookEvent,
  { word = '', ...more }: Readonly<Record<string, unknown>> & { readonly word?: string } = {},
): Promise<Made> {
  const answer = await call('POST', '/webhooks', {
    name: event,
    event,
    url: `${receiver.origin}/${event}${word}`,
    ...more,
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.body as Made;
}

function payload({ body }: ReceivedHook): unknown {
  return JSON.parse(body);
}

/** Each is signed as both rules say, and has exactly the shape of the catalogue. */
function isRight(one: ReceivedHook, secret: string): void {
  new Webhook(secret).verify(one.body, one.headers as Record<string, string>);
  const event = webhookEventNames.find((name) => name === one.headers['x-service-event']);
  expect(event).toBeDefined();
  if (event) WEBHOOK_EVENTS[event].shape.parse(payload(one));
}

/** The mail lies in the mailbox for an hour: nobody reads within a second. */
const anHourLater = () => db.execute(sql`UPDATE hot.delivery SET updated_at = updated_at - interval '1 hour'`);

async function sentMail(list: { uid: string }, email: string, campaign: string) {
  await add(list, email);
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  await anHourLater();
  const html = (await mailTo(email)).html ?? '';
  const link = (route: string) =>
    here(new RegExp(`"([^"]+/${route}/[^"]+)"`).exec(html)?.[1]?.replaceAll('&amp;', '&'));
  return { click: link('c'), pixel: link('o'), leave: link('u') };
}

const HTML = '<p>Hello <a href="https://shop.example/sale">sale</a> <a href="{UNSUBSCRIBE_URL}">leave</a></p>';

test('a campaign reports opens, clicks and unsubscribes to several webhooks in exactly the specified form', async () => {
  const receiver = await webhookReceiver();
  const list = await newList();
  const [campaign, other] = [await newCampaign(list, { html: HTML }), await newCampaign(list, { html: HTML })];
  const scope = { campaign_uid: campaign };
  const made = [
    await hook(receiver, 'open', scope),
    await hook(receiver, 'click', scope),
    await hook(receiver, 'click', { ...scope, word: '/second', with_machines: 1 }),
    await hook(receiver, 'unsubscribe', scope),
    await hook(receiver, 'campaign.sent', scope),
  ];
  const elsewhere = await hook(receiver, 'click', { campaign_uid: other, word: '/other' });
  const { click, pixel, leave } = await sentMail(list, 'ada@person.example', campaign);
  await fetch(pixel, { headers: BROWSER });
  await fetch(click, { headers: PROGRAM, redirect: 'manual' });
  await expect.poll(() => receiver.at('/click/second').length, WAIT).toBe(1);
  await fetch(click, { headers: BROWSER, redirect: 'manual' });
  await fetch(leave, {
    method: 'POST',
    headers: BROWSER,
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  });
  await expect.poll(() => receiver.at('/unsubscribe').length, WAIT).toBe(1);
  await expect.poll(() => receiver.at('/click/second').length, WAIT).toBe(2);
  const counts = () => ['/open', '/click', '/campaign.sent'].map((path) => receiver.at(path).length);
  await expect.poll(counts, WAIT).toEqual([1, 1, 1]);

  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const always = { occurred_at: time, sequence: expect.any(Number) };
  const mail = { campaign_uid: campaign, subscriber: 'ada@person.example' };
  expect(receiver.at('/open').map(payload)).toEqual([{ event: 'open', ...mail, opened_at: time, ...always }]);
  expect(receiver.at('/click').map(payload)).toEqual([
    { event: 'click', ...mail, url: 'https://shop.example/sale', clicked_at: time, ...always },
  ]);
  expect(receiver.at('/unsubscribe').map(payload)).toEqual([
    { event: 'unsubscribe', ...mail, unsubscribed_at: time, ...always },
  ]);
  expect(receiver.at('/campaign.sent').map(payload)).toEqual([
    { event: 'campaign.sent', campaign_uid: campaign, list_uid: list.uid, sent_at: time, ...always },
  ]);
  for (const one of made)
    for (const received of receiver.at(new URL(String(one.webhook['url'])).pathname)) isRight(received, one.secret);
  expect(receiver.at('/click')[0]?.headers).toMatchObject({
    ...{ 'content-type': 'application/json', 'x-service-event': 'click' },
    'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
  });
  expect(receiver.at('/click/other')).toEqual([]);
  await expect.poll(() => queryRows(db, sql`SELECT 1 FROM hot.webhook_activity`), WAIT).toEqual([]);
  for (const one of [...made, elsewhere]) await call('DELETE', `/webhooks/${one.webhook_uid}`);
});

test('what happens to people of a list is reported, of other lists not, and without a webhook nothing is written', async () => {
  const receiver = await webhookReceiver();
  const [list, other] = [await newList(), await newList()];
  await add(list, 'before@person.example');
  expect(await queryRows(db, sql`SELECT 1 FROM hot.webhook_activity`)).toEqual([]);
  const events = ['added', 'changed', 'tagged', 'untagged', 'unsubscribed', 'resubscribed', 'removed'] as const;
  const made = new Map<string, Made>();
  for (const name of events) made.set(name, await hook(receiver, `subscriber.${name}`, { list_uid: list.uid }));
  await add(other, 'bob@person.example');
  const uid = await add(list, 'ada@person.example', { FIRST_NAME: 'Ada', tag: 'vip' });
  await call('PATCH', `/subscribers/${uid}`, { FIRST_NAME: 'Augusta' });
  await call('POST', `/subscribers/${uid}/add-tag`, { tag: 'poet' });
  await call('POST', `/subscribers/${uid}/remove-tag`, { tag: 'poet' });
  await call('PATCH', `/subscribers/${uid}/unsubscribe`);
  await db.execute(
    sql`UPDATE subscriber SET status = 'subscribed' WHERE email = 'ada@person.example' AND status = 'unsubscribed' AND tags <> '{}'`,
  );
  await expect.poll(() => receiver.at('/subscriber.resubscribed').length, WAIT).toBe(1);
  await call('DELETE', `/subscribers/${uid}`);
  const counts = () => events.map((name) => receiver.at(`/subscriber.${name}`).length);
  await expect.poll(counts, WAIT).toEqual(events.map(() => 1));
  const person = { list_uid: list.uid, subscriber_uid: uid, subscriber: 'ada@person.example' };
  const [added, changed, tagged] = events.map((name) => receiver.at(`/subscriber.${name}`).map(payload)[0]);
  expect(added).toMatchObject({ ...person, status: 'subscribed', fields: { FIRST_NAME: expect.any(String) } });
  expect(changed).toMatchObject({ ...person, fields: { FIRST_NAME: 'Augusta' } });
  expect(tagged).toMatchObject({ ...person, tags: ['poet'] });
  expect(receiver.at('/subscriber.removed').map(payload)).toMatchObject([{ ...person, subscriber: null }]);
  for (const [name, one] of made) {
    for (const received of receiver.at(`/subscriber.${name}`)) isRight(received, one.secret);
    await call('DELETE', `/webhooks/${one.webhook_uid}`);
  }
});

test('a campaign reports its states, and transactional mails by a template their opens', async () => {
  const receiver = await webhookReceiver();
  const list = await newList();
  await add(list, 'cy@person.example');
  const states = ['scheduled', 'paused', 'resumed', 'failed', 'started', 'sent'] as const;
  for (const name of states) await hook(receiver, `campaign.${name}`, { list_uid: list.uid });
  const later = await newCampaign(list, { delivery_at: '2030-01-31 08:00:00' });
  await call('POST', `/campaigns/${later}/run`);
  await call('POST', `/campaigns/${later}/pause`);
  await db.execute(sql`UPDATE campaign SET status = 'queued' WHERE uid = ${later}`);
  await db.execute(sql`UPDATE campaign SET status = 'error', reason_code = 'no_audience' WHERE uid = ${later}`);
  const campaign = await newCampaign(list);
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  const counts = () => states.map((name) => receiver.at(`/campaign.${name}`).length);
  await expect.poll(counts, WAIT).toEqual(states.map(() => 1));
  expect(receiver.at('/campaign.failed').map(payload)).toMatchObject([{ campaign_uid: later, reason: 'no_audience' }]);
  expect(receiver.at('/campaign.started').map(payload)).toMatchObject([{ campaign_uid: campaign, list_uid: list.uid }]);

  const template = (
    await call('POST', '/templates', {
      name: 'Receipt',
      kind: 'transactional',
      subject: 'Thanks',
      html: '<p>Thanks</p>',
    })
  ).body as { template_uid: string };
  const { template_uid } = template;
  await hook(receiver, 'open', { template_uid });
  const mail = { to: 'dee@person.example', from_email: 'shop@sender.example', from_name: 'Shop', track_opens: 1 };
  const answer = await call('POST', '/transactional', { ...mail, template_uid });
  expect(answer.status, answer.text).toBeLessThan(300);
  const { html } = await mailTo('dee@person.example');
  const open = () => queryRows(db, sql`SELECT 1 FROM hot.delivery WHERE state IN ('queued', 'sending')`);
  await expect.poll(open, WAIT).toEqual([]);
  await anHourLater();
  await fetch(here(/src="([^"]+\/o\/[^"]+)"/.exec(html ?? '')?.[1]), { headers: BROWSER });
  await expect.poll(() => receiver.at('/open').length, WAIT).toBe(1);
  expect(receiver.at('/open').map(payload)).toMatchObject([
    { event: 'open', campaign_uid: null, template_uid, subscriber: 'dee@person.example' },
  ]);
});

test('the defaults are twelve tries from a minute on, the example of each event is sent by a test', async () => {
  const receiver = await webhookReceiver();
  for (const event of webhookEventNames) {
    if (kindOfEvent(event) !== 'lifecycle') {
      const made = await hook(receiver, event);
      expect(made.webhook).toMatchObject({ event, retry_times: 11, retry_after_seconds: 60, list_uid: null });
      const { body } = await call('POST', `/webhooks/${made.webhook_uid}/test`);
      expect(body).toMatchObject({ delivery: { state: 'delivered', is_test: true, event } });
      const [received] = receiver.at(`/${event}`);
      if (received) isRight(received, made.secret);
      expect(received && payload(received)).toEqual(WEBHOOK_EVENTS[event].example);
      await call('DELETE', `/webhooks/${made.webhook_uid}`);
    }
  }
  expect(receiver.received).toHaveLength(20);
});
