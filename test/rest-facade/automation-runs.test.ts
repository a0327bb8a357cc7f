/** What is seen of automations over REST, and the same over GraphQL: runs with their steps, counts that open their people, and runs that failed. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { advanceDue } from '../../src/domain/automations/engine/advance-due.ts';
import { runUid, subscriberIdOf, subscriberUid } from '../../src/lib/ids.ts';
import { automationRest, errorsOf, line } from '../support/automation-rest.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const own = await newWorld(app, smtp);
const stranger = await newWorld(app, smtp);

const { ask, active: activate, graphql } = automationRest(app, own);
const active = (flow: object) => activate({ triggers: [{ type: 'execute' }], ...flow });
const DAY_MS = 86_400_000;
let now = new Date();
/** Does what is due so many days from the beginning on. */
const run = async (days = 0) => {
  now = new Date(Date.now() + days * DAY_MS);
  while ((await advanceDue(app.ctx, { now: () => now, isStopping: () => false })) > 0);
};

let people = 0;
async function enter(uid: string, payload?: object) {
  people += 1;
  const email = `seen${people}@person.example`;
  const added = await ask('POST', '/subscribers', { list_uid: own.listUid, EMAIL: email });
  expect(added.status, added.text).toBe(201);
  const entered = await ask('POST', `/automations/${uid}/execute`, { email, ...(payload ? { payload } : {}) });
  expect(entered.status, entered.text).toBe(200);
  return { email, run: String(field(entered, 'run_uid')) };
}

interface Row {
  readonly uid: string;
  readonly email: string | null;
  readonly state: string;
}
const runsOf = async (uid: string, query = '') => {
  const answer = await ask('GET', `/automations/${uid}/runs?${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as { readonly runs: readonly Row[]; readonly next: string | null };
};
const emailsOf = async (uid: string, query = '') => (await runsOf(uid, query)).runs.map(({ email }) => email);

interface Counts {
  readonly node: string;
  readonly entered: number;
  readonly waiting: number;
  readonly passed: number;
  readonly left: number;
  readonly parked: number;
}
/** Nodes with people, by their ids. */
async function countsOf(uid: string) {
  const { body } = await ask('GET', `/automations/${uid}/counts`);
  const [version] = (body as { versions: { nodes: readonly Counts[] }[] }).versions;
  for (const { entered, waiting, passed, left, parked } of version?.nodes ?? [])
    expect(entered).toBe(waiting + passed + left + parked);
  return Object.fromEntries(
    (version?.nodes ?? []).map(({ node, entered: _all, ...counts }) => [
      node,
      Object.entries(counts)
        .flatMap(([name, count]) => (count === 0 || count === null ? [] : [`${name} ${count}`]))
        .join(', '),
    ]),
  );
}
const FLOW = {
  nodes: [
    { id: 'hello', type: 'send_mail', templateUid: own.templateUid },
    { id: 'rest', type: 'wait', for: { days: 1 } },
    { id: 'asked', type: 'condition', if: { payload: { path: 'login.api_token', text: { is: 'T-1' } } } },
    { id: 'vip', type: 'add_tag', tag: 'vip' },
    { id: 'stop', type: 'end' },
  ],
  edges: [
    ...line('start', 'hello', 'rest', 'asked'),
    { from: 'asked', port: 'yes', to: 'vip' },
    { from: 'asked', port: 'no', to: 'stop' },
  ],
};
const PAYLOAD = { login: { api_token: 'T-1', city: 'Graz' }, items: [{ password: 'x', no: 5 }] };

test('a step that started another automation names the run there; a person who was moved, the list', async () => {
  const other = String(field(await ask('POST', '/lists', LIST_BODY), 'list_uid'));
  const started = await active({ nodes: [{ id: 'end', type: 'end' }], edges: line('start', 'end') });
  const uid = await active({
    nodes: [
      { id: 'begin', type: 'start_flow', automationUid: started },
      { id: 'move', type: 'move_to_list', listUid: other },
    ],
    edges: line('start', 'begin', 'move'),
  });
  const one = await enter(uid);
  await run();
  const there = (await runsOf(started)).runs[0]?.uid;
  expect((await ask('GET', `/automations/${uid}/runs/${one.run}`)).body).toMatchObject({
    steps: [{}, { node: 'begin', what: 'passed', details: { automation_uid: started, run_uid: there } }, {}],
  });
  const { body } = await ask('GET', `/subscribers/${one.email}/timeline?kind=moved&list_uid=${own.listUid}`);
  expect(body).toMatchObject({ timeline: [{ kind: 'moved', what: { list_uid: other } }] });
  expect(JSON.stringify(body)).not.toContain('listUid');
});

test('a run shows every step with its reason, the mail with its delivery, and no secrets', async () => {
  const uid = await active(FLOW);
  const one = await enter(uid, PAYLOAD);
  await run();
  const path = `/automations/${uid}/runs/${one.run}`;
  const shown = await ask('GET', path);
  expect(shown.body).toMatchObject({
    run: {
      ...{ uid: one.run, automation_uid: uid, email: one.email, version: 1, state: 'waiting', node: 'rest' },
      ...{ ended_at: null, reason: null, failures: 0 },
      wake_at: expect.any(String),
      payload: { login: { api_token: '***', city: 'Graz' }, items: [{ password: '***', no: 5 }] },
    },
    steps: [
      { no: 1, node: 'hello', node_type: 'send_mail', what: 'entered', reason: 'execute', mail: null },
      {
        ...{ no: 2, node: 'hello', what: 'passed', port: 'next', details: { template_uid: own.templateUid } },
        mail: { state: 'queued', reason: null, attempts: 0 },
      },
    ],
    next: null,
  });
  const mail = (shown.body as { steps: { mail: { message_uid: string } | null }[] }).steps[1]?.mail?.message_uid;
  expect((await ask('GET', `/messages/${mail}`)).body).toMatchObject({ message: { automation_uid: uid } });

  await run(2);
  const ended = await ask('GET', path);
  expect(ended.body).toMatchObject({
    run: { state: 'passed', node: 'vip', wake_at: null, ended_at: expect.any(String), payload: null },
    steps: [
      {},
      {},
      { no: 3, node: 'rest', what: 'passed' },
      { no: 4, node: 'asked', what: 'passed', port: 'yes', details: { answers: [{ is: true, value: '***' }] } },
      { no: 5, node: 'vip', what: 'passed', port: 'next' },
    ],
  });
  expect(ended.text).not.toContain('T-1');
  const first = await ask('GET', `${path}?per_page=3`);
  expect(first.body).toMatchObject({ steps: [{ no: 1 }, { no: 2 }, { no: 3 }], next: '3' });
  expect((await ask('GET', `${path}?per_page=3&after=3`)).body).toMatchObject({
    steps: [{ no: 4 }, { no: 5 }],
    next: null,
  });
  expect((await ask('GET', `/automations/${uid}/runs/${runUid(1n << 50n)}`)).status).toBe(404);
  expect((await ask('GET', path, undefined, stranger.token)).status).toBe(403);
  expect(
    (await ask('GET', `/automations/${stranger.automationUid}/runs/${one.run}`, undefined, stranger.token)).status,
  ).toBe(404);
});

test('each count opens its people, page by page, and both entry points agree', async () => {
  const uid = await active(FLOW);
  const all = [await enter(uid, PAYLOAD), await enter(uid), await enter(uid), await enter(uid), await enter(uid)];
  const emails = all.map(({ email }) => email);
  await run();
  expect(await countsOf(uid)).toEqual({ hello: 'passed 5', rest: 'waiting 5', asked: '', vip: '', stop: '' });
  // Who goes on first comes first.
  expect(await emailsOf(uid, 'state=waiting')).toEqual(emails);
  const first = await runsOf(uid, 'state=waiting&node=rest&version=1&per_page=2');
  const second = await runsOf(uid, `state=waiting&node=rest&per_page=2&after=${first.next}`);
  const third = await runsOf(uid, `state=waiting&node=rest&per_page=2&after=${second.next}`);
  expect([first, second, third].map(({ runs }) => runs.map(({ email }) => email))).toEqual([
    ...[emails.slice(0, 2), emails.slice(2, 4), emails.slice(4)],
  ]);
  expect(third.next).toBeNull();

  const out = await ask('POST', `/automations/${uid}/take-out`, { email: emails[4] });
  expect(out.body).toMatchObject({ status: 1, automation_uid: uid, runs: 1 });
  expect((await ask('POST', `/automations/${uid}/take-out`, { email: emails[4] })).body).toMatchObject({
    ...{ message: 'The person is not in the automation', runs: 0 },
  });
  const gone = await ask('GET', `/subscribers/email/${emails[3]}`);
  const id = subscriberIdOf((gone.body as { subscribers: { uid: string }[] }).subscribers[0]?.uid ?? '');
  expect((await ask('DELETE', `/subscribers/${id}`)).status).toBe(200);
  await run(2);
  expect(await countsOf(uid)).toEqual({
    ...{ hello: 'passed 5', rest: 'passed 3, left 2', asked: 'passed 3', vip: 'passed 1', stop: 'passed 2' },
  });
  // The deleted person counts still, without a name.
  expect((await runsOf(uid, 'state=left')).runs).toMatchObject([
    { email: emails[4], state: 'left', reason: 'taken_out' },
    { email: null, subscriber_uid: null, state: 'left', reason: 'deleted', node: 'rest' },
  ]);
  expect(await emailsOf(uid, 'state=passed&node=asked')).toEqual([emails[2], emails[1], emails[0]]);
  expect(await emailsOf(uid, 'state=passed&node=vip')).toEqual([emails[0]]);
  expect(await emailsOf(uid, 'state=waiting')).toEqual([]);
  const newest = [emails[4], null, emails[2], emails[1], emails[0]];
  expect(await emailsOf(uid)).toEqual(newest);
  expect(await emailsOf(uid, 'version=2')).toEqual([]);
  expect(await emailsOf(uid, `per_page=2&after=${(await runsOf(uid, 'per_page=2')).next}`)).toEqual(newest.slice(2, 4));
  expect(await emailsOf(uid, `email=${emails[0]}`)).toEqual([emails[0]]);
  expect(await emailsOf(uid, `email=${emails[0]}&state=passed&node=vip`)).toEqual([emails[0]]);
  expect(await emailsOf(uid, `email=${emails[1]}&state=passed&node=vip`)).toEqual([]);
  expect(await emailsOf(uid, `email=${emails[4]}&state=left`)).toEqual([emails[4]]);

  const QUERY = `query ($uid: String!, $state: AutomationRunState, $node: String, $who: String) {
    runs: automationRuns(uid: $uid, state: $state, node: $node, subscriber: $who) {
      ... on AutomationRunConnection { totalCount nodes { uid email state steps { totalCount } } } ... on Error { code } }
    counts: automationCounts(uid: $uid) { ... on AutomationCounts { versions { version isLive waiting parked left nodes { node passed } } } } }`;
  const twin = await graphql(QUERY, { uid, state: 'passed', node: 'asked' });
  expect(twin.data.runs).toMatchObject({
    totalCount: 3,
    nodes: [{ steps: { totalCount: 5 } }, {}, { email: emails[0] }],
  });
  expect(twin.data.counts.versions).toMatchObject([
    {
      version: 1,
      isLive: true,
      waiting: '0',
      parked: '0',
      left: '2',
      nodes: [{ node: 'hello', passed: '5' }, {}, {}, {}, {}],
    },
  ]);
  expect((await graphql(QUERY, { uid })).data.runs.totalCount).toBe(5);
  expect((await graphql(QUERY, { uid, who: emails[1] })).data.runs).toMatchObject({ totalCount: 1, nodes: [{}] });
  expect((await graphql(QUERY, { uid }, stranger.token)).data.runs).toEqual({ code: 'AUTOMATION_NOT_FOUND' });
});

test('who waits without end, and who waits in an earlier version, are found', async () => {
  const nodes = [
    { id: 'call', type: 'api_call' },
    { id: 'rest', type: 'wait', for: { days: 1 } },
  ];
  const uid = await active({ nodes, edges: line('start', 'call', 'rest') });
  const called = await enter(uid);
  const [waits, other] = [await enter(uid), await enter(uid)];
  await ask('POST', `/automations/${uid}/api/call`, { email: called.email });
  const flow = { triggers: [{ type: 'execute' }], nodes: [nodes[0]], edges: line('start', 'call') };
  expect((await ask('PATCH', `/automations/${uid}`, { flow, draft_version: 1 })).status).toBe(200);
  expect((await ask('POST', `/automations/${uid}/publish`, { draft_version: 2 })).status).toBe(200);
  const later = await enter(uid);
  const everybody = [called.email, waits.email, other.email, later.email];
  expect(await emailsOf(uid, 'state=waiting')).toEqual(everybody);
  const found: (string | null)[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: Awaited<ReturnType<typeof runsOf>> = await runsOf(uid, `state=waiting&per_page=1&after=${after}`);
    found.push(...page.runs.map(({ email }) => email));
    after = page.next;
  }
  expect(found).toEqual(everybody);
  expect(await emailsOf(uid, 'state=waiting&node=call&version=1')).toEqual([waits.email, other.email]);
  const versions = (await ask('GET', `/automations/${uid}/counts`)).body;
  expect(versions).toMatchObject({
    versions: [
      { version: 2, is_live: true, waiting: 1, nodes: [{ node: 'call', waiting: 1 }] },
      {
        version: 1,
        is_live: false,
        waiting: 3,
        nodes: [
          { node: 'call', waiting: 2 },
          { node: 'rest', waiting: 1 },
        ],
      },
    ],
  });
  expect((await ask('GET', `/automations/${uid}/counts?version=1`)).body).toMatchObject({ versions: [{ version: 1 }] });
  expect((await ask('GET', `/automations/${uid}/counts?version=9`)).body).toMatchObject({ versions: [] });
});

test('runs that failed are tried again, or pass over their node', async () => {
  const template = await ask('POST', '/templates', { name: 'Gone', kind: 'marketing', subject: 'S', html: '<p>x</p>' });
  const templateUid = String(field(template, 'template_uid'));
  const uid = await active({
    nodes: [
      { id: 'mail', type: 'send_mail', templateUid },
      { id: 'rest', type: 'wait', for: { days: 1 } },
    ],
    edges: line('start', 'mail', 'rest'),
  });
  await app.ctx.db.execute(sql`DELETE FROM template WHERE uid = ${templateUid}`);
  const [one, two] = [await enter(uid), await enter(uid)];
  await run();
  expect(await countsOf(uid)).toEqual({ mail: 'parked 2', rest: '' });
  expect((await runsOf(uid, 'state=parked')).runs).toMatchObject([
    { email: two.email, state: 'parked', node: 'mail', reason: 'template_deleted', wake_at: null },
    { email: one.email, state: 'parked' },
  ]);
  expect(await emailsOf(uid, `state=parked&node=mail&email=${one.email}`)).toEqual([one.email]);
  const place = { version: 1, node: 'mail' };
  expect((await ask('POST', `/automations/${uid}/parked/retry`, place)).body).toMatchObject({ status: 1, runs: 2 });
  expect(await countsOf(uid)).toEqual({ mail: 'waiting 2', rest: '' });
  await run();
  expect(await countsOf(uid)).toEqual({ mail: 'parked 2', rest: '' });
  const SKIP = `mutation ($uid: String!) { it: skipParkedRuns(uid: $uid, version: 1, node: "mail") {
    ... on AutomationRunsChanged { uid runs } ... on Error { code } } }`;
  expect((await graphql(SKIP, { uid }, stranger.token)).data.it).toEqual({ code: 'AUTOMATION_NOT_FOUND' });
  expect((await graphql(SKIP, { uid })).data.it).toEqual({ uid, runs: 2 });
  await run();
  expect(await countsOf(uid)).toEqual({ mail: 'passed 2', rest: 'waiting 2' });
  expect((await ask('POST', `/automations/${uid}/parked/skip`, place)).body).toMatchObject({
    ...{ message: 'Nobody is parked there', runs: 0 },
  });
  const steps = (await ask('GET', `/automations/${uid}/runs/${one.run}`)).body as { steps: { what: string }[] };
  expect(steps.steps.map(({ what }) => what)).toEqual(['entered', 'parked', 'parked', 'passed']);
});

test('what cannot be asked is refused by name', async () => {
  const uid = own.automationUid;
  const refused = async (query: string) => {
    const answer = await ask('GET', `/automations/${uid}/runs?${query}`);
    expect(answer.status, answer.text).toBe(422);
    return errorsOf(answer);
  };
  expect(await refused('node=call')).toEqual(['state']);
  expect(await refused('state=passed')).toEqual(['node']);
  expect(await refused('state=gone')).toEqual(['state']);
  expect(await refused('version=0')).toEqual(['version']);
  expect(await refused('after=x')).toEqual(['after']);
  expect(await refused('state=waiting&after=1.2.3')).toEqual(['after']);
  expect((await ask('GET', `/automations/${uid}/runs?email=nobody@person.example`)).status).toBe(404);
  expect((await ask('GET', `/automations/${uid}/counts?version=0`)).status).toBe(422);
  expect(errorsOf(await ask('POST', `/automations/${uid}/parked/retry`, { node: 'call' }))).toEqual(['version']);
  expect(errorsOf(await ask('POST', `/automations/${uid}/parked/retry`, { node: 'call', version: 0 }))).toEqual([
    'version',
  ]);
  expect(errorsOf(await ask('POST', `/automations/${uid}/parked/skip`, { version: 1 }))).toEqual(['node']);
  expect(errorsOf(await ask('POST', `/automations/${uid}/take-out`, {}))).toEqual(['subscriber']);
  expect((await ask('GET', `/automations/${uid}/counts`, undefined, stranger.token)).status).toBe(403);
});

test('an index row has what decision D28 names, true for drafts and published flows', async () => {
  const world = await newWorld(app, smtp);
  const draft = await ask('POST', '/automations', { list_uid: world.listUid, name: 'Draft' }, world.token);
  const { body } = await ask('GET', '/automations', undefined, world.token);
  const rows = (body as { data: Record<string, unknown>[] }).data;
  const times = { created_at: expect.any(String), updated_at: expect.any(String) };
  expect(rows).toHaveLength(2);
  const made = { uid: field(draft, 'automation_uid'), name: 'Draft', status: 'inactive', trigger: null };
  expect(rows).toContainEqual(expect.objectContaining({ ...made, list_uid: world.listUid, ...times }));
  const published = { uid: world.automationUid, status: 'active', trigger: 'execute', list_uid: world.listUid };
  expect(rows).toContainEqual(expect.objectContaining({ ...published, ...times }));
  const [stored] = await queryRows<{ id: bigint }>(
    app.ctx.db,
    sql`SELECT person_id AS id FROM hot.flow_run r JOIN automation a ON a.id = r.automation_id WHERE a.uid = ${world.automationUid}`,
  );
  expect(subscriberUid(stored?.id ?? 0n)).toBe(world.subscriberUid);
});
