/** The timeline of a person (decision D104) over REST, and the same over GraphQL: all that happened, in order, page by page, of one customer. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { personTimeline } from '../../src/domain/tracking/person-timeline.ts';
import type { PersonKey } from '../../src/domain/tracking/timeline-read-model.ts';
import { subscriberIdOf } from '../../src/lib/ids.ts';
import { automationRest, errorsOf, line } from '../support/automation-rest.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const own = await newWorld(app, smtp);
const stranger = await newWorld(app, smtp);
const { ask, active, graphql } = automationRest(app, own);

interface Entry {
  readonly kind: string;
  readonly by: string | null;
  readonly what: Readonly<Record<string, unknown>>;
}
async function timelineOf(who: string, query = '') {
  const answer = await ask('GET', `/subscribers/${who}/timeline?${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as { readonly timeline: readonly Entry[]; readonly next: string | null };
}

const email = 'seen@person.example';
const added = await ask('POST', '/subscribers', { list_uid: own.listUid, EMAIL: email, FIRST_NAME: 'Ann' });
const uid = String(field(added, 'subscriber_uid'));
const id = subscriberIdOf(uid);
await ask('POST', `/subscribers/${uid}/add-tag`, { tag: 'vip' });
await ask('PATCH', `/subscribers/${uid}`, { FIRST_NAME: 'Bob' });
await ask('POST', '/events', { name: 'bought', subscriber: uid, payload: { no: 5, card_token: 'T-1' } });
const automationUid = await active({
  triggers: [{ type: 'execute' }],
  nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }],
  edges: line('start', 'rest'),
});
await ask('POST', `/automations/${automationUid}/execute`, { subscriber: uid });
// A campaign that was sent, opened by a machine and clicked by the person.
await app.ctx.db.execute(sql`
  WITH c AS (UPDATE campaign SET snapshot_on = current_date WHERE uid = ${own.campaignUid} RETURNING customer_id, id, list_id),
       d AS (INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state)
             SELECT current_date, customer_id, 1, id, ${id}, list_id, ${email}, 'sent' FROM c),
       r AS (INSERT INTO hot.recipient_activity (customer_id, source_kind, source_id, recipient_id, open_count, click_count)
             SELECT customer_id, 1, id, ${id}, 1, 1 FROM c),
       o AS (INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id, is_machine)
             SELECT now() - interval '1 millisecond', customer_id, 1, id, ${id}, true FROM c)
  INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, link_no, url)
  SELECT now(), customer_id, 1, id, ${id}, 0, 'https://shop.example/' FROM c`);
const left = await ask('PATCH', `/subscribers/${uid}/unsubscribe`);
expect(left.status, left.text).toBe(200);

test('has all that happened, the newest first, and no secrets', async () => {
  const { timeline, next } = await timelineOf(uid);
  expect(next).toBeNull();
  expect(timeline.filter(({ kind }) => kind !== 'mail')).toMatchObject([
    { kind: 'unsubscribed', by: 'api' },
    { kind: 'clicked', by: 'person', what: { campaign_uid: own.campaignUid, url: 'https://shop.example/' } },
    { kind: 'opened', by: 'machine', what: { campaign_uid: own.campaignUid, is_implied: false } },
    {
      kind: 'flow',
      by: 'flow',
      what: { automation_uid: automationUid, node: 'rest', step: 'entered', reason: 'execute' },
    },
    { kind: 'event', by: 'api', what: { name: 'bought', payload: { no: 5, card_token: '***' } } },
    { kind: 'changed', what: { fields: ['FIRST_NAME'] } },
    { kind: 'tagged', what: { tags: ['vip'] } },
    { kind: 'added', by: 'api' },
  ]);
  expect(
    timeline.filter(({ what }) => what['campaign_uid'] === own.campaignUid && what['state'] === 'sent'),
  ).toMatchObject([{ kind: 'mail', by: 'campaign', what: { state: 'sent', reason: null } }]);
});

test('is counted without reading payloads and links', async () => {
  const READ =
    'query ($who: String!) { it: subscriberTimeline(subscriber: $who) { ... on SubscriberTimelineConnection { totalCount } } }';
  const { timeline } = await timelineOf(uid);
  expect((await graphql(READ, { who: uid })).data.it.totalCount).toBe(timeline.length);
  const [person] = await queryRows<PersonKey>(
    app.ctx.db,
    sql`SELECT customer_id AS "customerId", list_id AS "listId", id FROM subscriber WHERE id = ${id}`,
  );
  if (!person) throw new Error('The person is not there.');
  const read = (isCounting: boolean) =>
    personTimeline(app.ctx, person, { after: undefined, limit: 100, kinds: ['event', 'clicked'], isCounting });
  expect((await read(false)).map(({ what }) => what)).toMatchObject([
    { url: expect.any(String) },
    { payload: { no: 5 } },
  ]);
  expect((await read(true)).map(({ what }) => what)).toMatchObject([{ url: null }, { payload: null }]);
});

test('comes page by page, by kind, and alike over both entry points', async () => {
  const all = (await timelineOf(uid)).timeline;
  const found: Entry[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: Awaited<ReturnType<typeof timelineOf>> = await timelineOf(uid, `per_page=2&after=${after}`);
    found.push(...page.timeline);
    after = page.next;
  }
  expect(found).toEqual(all);
  expect((await timelineOf(uid, 'kind=tagged,opened')).timeline.map(({ kind }) => kind)).toEqual(['opened', 'tagged']);
  expect((await timelineOf(uid, 'kind=clicked')).timeline).toHaveLength(1);
  const QUERY = `query ($who: String!) { it: subscriberTimeline(subscriber: $who, kinds: [flow, mail]) {
    ... on SubscriberTimelineConnection { totalCount nodes { kind by what } } ... on Error { code } } }`;
  const some = all
    .filter(({ kind }) => kind === 'flow' || kind === 'mail')
    .map(({ kind, by, what }) => ({ kind, by, what }));
  expect((await graphql(QUERY, { who: email })).data.it).toEqual({ totalCount: some.length, nodes: some });
  expect((await graphql(QUERY, { who: uid }, stranger.token)).data.it).toEqual({ code: 'SUBSCRIBER_NOT_FOUND' });
});

test('shows what was caused above its cause within one millisecond, of which some tables know no parts, and once on its pages', async () => {
  const made = await ask('POST', '/subscribers', { list_uid: own.listUid, EMAIL: 'soon@person.example' });
  const who = String(field(made, 'subscriber_uid'));
  await ask('POST', `/subscribers/${who}/add-tag`, { tag: 'soon' });
  await ask('POST', `/automations/${automationUid}/execute`, { subscriber: who });
  const person = subscriberIdOf(who);
  const at = sql`date_trunc('milliseconds', now())`;
  await app.ctx.db.execute(sql`UPDATE hot.flow_step SET at = ${at} WHERE person_id = ${person}`);
  await app.ctx.db.execute(
    sql`UPDATE hot.person_event SET at = (SELECT at FROM hot.flow_step WHERE person_id = ${person}) + make_interval(secs => kind / 1e5) WHERE person_id = ${person}`,
  );
  const found: string[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: Awaited<ReturnType<typeof timelineOf>> = await timelineOf(who, `per_page=1&after=${after}`);
    found.push(...page.timeline.map(({ kind }) => kind));
    after = page.next;
  }
  expect(found).toEqual(['flow', 'tagged', 'added']);
});

test('shows since when the address is suppressed, until it is no more', async () => {
  const address = 'unwanted@person.example';
  const made = await ask('POST', '/subscribers', { list_uid: own.listUid, EMAIL: address });
  const who = String(field(made, 'subscriber_uid'));
  const kinds = async (query = '') => (await timelineOf(who, query)).timeline.map(({ kind }) => kind);
  expect(await kinds()).toEqual(['added']);
  const suppressed = await ask('POST', '/suppressions', { email: address });
  expect(suppressed.status, suppressed.text).toBeLessThan(300);
  const { timeline, next } = await timelineOf(who, 'per_page=1');
  expect(timeline).toMatchObject([{ kind: 'suppressed', by: null, what: { reason: 'manual' } }]);
  expect(await kinds(`per_page=1&after=${next}`)).toEqual(['added']);
  expect(await kinds('kind=suppressed')).toEqual(['suppressed']);
  await ask('DELETE', `/suppressions/${address}`);
  expect(await kinds()).toEqual(['added']);
});

test('refuses what it does not know', async () => {
  expect(errorsOf(await ask('GET', `/subscribers/${uid}/timeline?kind=gone`))).toEqual(['kind']);
  expect(errorsOf(await ask('GET', `/subscribers/${uid}/timeline?after=1`))).toEqual(['after']);
  expect((await ask('GET', `/subscribers/${uid}/timeline`, undefined, stranger.token)).status).toBe(403);
  expect((await ask('GET', '/subscribers/nobody@person.example/timeline')).status).toBe(404);
});
