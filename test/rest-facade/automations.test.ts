/** Automations over REST, and the same over GraphQL: drafts, publications, entries, copies, indexes, limits, other customers. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { AUTOMATION_NAME_MAX } from '../../src/domain/automations/automation.ts';
import { subscriberIdOf } from '../../src/lib/ids.ts';
import { automationRest, errorsOf } from '../support/automation-rest.ts';
import { FLOW } from '../support/insert-automation.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { givePlan } from '../support/plans.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const own = await newWorld(app, smtp);
const stranger = await newWorld(app, smtp);

const { ask, make: draft, active: publish, graphql } = automationRest(app, own);
const make = (body: object = {}) => draft({ flow: FLOW, ...body });
const active = (flow: object = FLOW) => publish(flow);
const namesIn = (answer: RestAnswer) => (field(answer, 'data') as { name: string }[]).map(({ name }) => name);

/** What is stored, without uid and times. */
const stored = (uid: string) =>
  queryRows(
    app.ctx.db,
    sql`SELECT customer_id, list_id, name, status, draft, draft_version, live_version FROM automation WHERE uid = ${uid}`,
  );

describe('an automation', () => {
  test('is made, shown, changed, published, activated, paused and deleted', async () => {
    const uid = await make();
    const shown = { uid, name: 'Welcome', status: 'inactive', trigger: 'execute', list_uid: own.listUid };
    const draft = { ...shown, flow: FLOW, draft_version: 1, live_version: null };
    expect((await ask('GET', `/automations/${uid}`)).body).toMatchObject({ automation: draft });
    expect((await ask('POST', `/automations/${uid}/activate`)).text).toContain('publish it first');
    const flow = { ...FLOW, nodes: [{ id: 'rest', type: 'wait', for: { days: 3 } }] };
    const changed = await ask('PATCH', `/automations/${uid}`, { flow, draft_version: 1, name: 'Hello' });
    expect(changed.body).toMatchObject({ status: 1, automation: { name: 'Hello', flow, draft_version: 2 } });
    expect((await ask('GET', `/automations/${uid}/check`)).body).toMatchObject({
      ...{ draft_version: 2, faults: [] },
      warnings: [{ node: 'rest', field: null, code: 'nothing_follows', message: expect.any(String) }],
    });
    const published = await ask('POST', `/automations/${uid}/publish`, { draft_version: 2 });
    expect(published.body).toMatchObject({ status: 1, automation_uid: uid, version: 1, warnings: [{ node: 'rest' }] });
    expect((await ask('POST', `/automations/${uid}/activate`)).body).toMatchObject({
      automation: { status: 'active' },
    });
    expect((await ask('POST', `/automations/${uid}/pause`)).body).toMatchObject({
      automation: { status: 'inactive', live_version: 1 },
    });
    expect((await ask('GET', `/automations/${uid}/versions`)).body).toMatchObject({
      versions: [{ number: 1, published_by: own.userUid, flow: { ...flow, entry: { mode: 'once' } } }],
      next: null,
    });
    expect((await ask('DELETE', `/automations/${uid}`)).body).toMatchObject({ status: 1, automation_uid: uid });
    expect((await ask('GET', `/automations/${uid}`)).status).toBe(404);
  });

  test('leaves the same row over both entry points', async () => {
    const CREATE =
      'mutation ($input: CreateAutomationInput!) { it: createAutomation(input: $input) { ... on Automation { uid } } }';
    const input = { listUid: own.listUid, name: 'Welcome', flow: FLOW };
    const twin = (await graphql(CREATE, { input })).data.it.uid;
    expect(await stored(twin)).toEqual(await stored(await make()));
    expect(await stored(twin)).toHaveLength(1);
    const READ = 'query ($uid: String!) { automation(uid: $uid) { ... on Automation { name status triggers flow } } }';
    expect((await graphql(READ, { uid: twin })).data.automation).toEqual({
      ...{ name: 'Welcome', status: 'inactive', triggers: ['execute'], flow: FLOW },
    });
  });

  test('whose draft was changed since it was read is neither overwritten nor published', async () => {
    const uid = await make();
    const at = await Promise.all(
      [1, 2, 3, 4].map((days) =>
        ask('PATCH', `/automations/${uid}`, {
          flow: { ...FLOW, nodes: [{ id: 'rest', type: 'wait', for: { days } }] },
          draft_version: 1,
        }),
      ),
    );
    expect(at.map(({ status }) => String(status)).toSorted()).toEqual(['200', '422', '422', '422']);
    const late = await ask('PATCH', `/automations/${uid}`, { flow: FLOW, draft_version: 1 });
    expect([late.status, late.text.includes('version 2 now')]).toEqual([422, true]);
    expect(errorsOf(await ask('PATCH', `/automations/${uid}`, { flow: FLOW }))).toEqual(['draft_version']);
    expect(errorsOf(await ask('POST', `/automations/${uid}/publish`, { draft_version: 1 }))).toEqual(['status']);
    expect(errorsOf(await ask('POST', `/automations/${uid}/publish`))).toEqual(['draft_version']);
    const UPDATE =
      'mutation ($input: UpdateAutomationInput!) { it: updateAutomation(input: $input) { ... on Error { code } } }';
    expect((await graphql(UPDATE, { input: { uid, flow: FLOW, draftVersion: 1 } })).data.it.code).toBe(
      'AUTOMATION_CHANGED',
    );
    expect(await stored(uid)).toMatchObject([{ draft_version: 2, live_version: null }]);
  });

  test('with faults is kept as a draft, and each fault is told with its place', async () => {
    const nodes = [
      { id: 'rest', type: 'wait', for: { days: 0 } },
      { id: 'tag', type: 'add_tag', tag: '' },
    ];
    const uid = await make({ flow: { ...FLOW, nodes } });
    const faults = [
      { node: 'rest', field: 'for.days', code: 'invalid', message: expect.any(String) },
      { node: 'tag', field: 'tag', code: 'invalid', message: expect.any(String) },
    ];
    expect((await ask('GET', `/automations/${uid}/check`)).body).toMatchObject({ faults, warnings: [] });
    const refused = await ask('POST', `/automations/${uid}/publish`, { draft_version: 1 });
    expect(refused.status, refused.text).toBe(422);
    expect(refused.body).toMatchObject({ errors: { flow: [expect.any(String), expect.any(String)] }, faults });
    const PUBLISH =
      'mutation ($uid: String!) { it: publishAutomation(uid: $uid, draftVersion: 1) { ... on ValidationError { code faults { node field code } } } }';
    expect((await graphql(PUBLISH, { uid })).data.it).toEqual({
      code: 'FLOW_HAS_FAULTS',
      faults: faults.map(({ node, field: place, code }) => ({ node, field: place, code })),
    });
  });

  test('is copied as a draft', async () => {
    const uid = await active();
    const copied = await ask('POST', `/automations/${uid}/copy`);
    expect(copied.body).toMatchObject({ automation: { name: 'Welcome (copy)', flow: FLOW, live_version: null } });
    const name = 'x'.repeat(AUTOMATION_NAME_MAX);
    const long = String(field(await ask('POST', `/automations/${uid}/copy`, { name }), 'automation_uid'));
    expect((await ask('POST', `/automations/${long}/copy`)).status).toBe(201);
    expect(errorsOf(await ask('POST', `/automations/${uid}/copy`, { name: `${name}x` }))).toEqual(['name']);
  });

  test('takes a flow with deep conditions, and the same as JSON text', async () => {
    const nested = (levels: number): object =>
      levels === 0 ? { person: { email: { contains: 'x' } } } : { all: [nested(levels - 1)] };
    const nodes = [{ id: 'ask', type: 'condition', if: nested(4) }];
    const flow = { ...FLOW, nodes, edges: [{ from: 'start', to: 'ask' }] };
    const uid = await make({ flow });
    expect((await ask('GET', `/automations/${uid}`)).body).toMatchObject({ automation: { flow } });
    const asText = await make({ flow: JSON.stringify(flow) });
    expect((await ask('GET', `/automations/${asText}`)).body).toMatchObject({ automation: { flow } });
    expect((await ask('POST', `/automations/${uid}/publish`, { draft_version: 1 })).status).toBe(200);
    const wrong = { list_uid: own.listUid, name: 'x', flow: '[1]' };
    expect(errorsOf(await ask('POST', '/automations', wrong))).toEqual(['flow']);
  });
});

describe('a person', () => {
  const runs = (uid: string) =>
    queryRows(
      app.ctx.db,
      sql`SELECT r.person_id AS person, r.node, p.payload FROM hot.flow_run r JOIN automation a ON a.id = r.automation_id
            LEFT JOIN hot.flow_payload p ON p.run_id = r.id WHERE a.uid = ${uid}`,
    );

  test.each(['subscriber', 'subscriber_uid', 'email', 'EMAIL', 'subscriber_id'])(
    'enters, named by %s',
    async (name) => {
      const uid = await active();
      const id = subscriberIdOf(own.subscriberUid);
      const who = { subscriber_id: Number(id), email: own.subscriberEmail, EMAIL: own.subscriberEmail };
      const given = { [name]: Reflect.get(who, name) ?? own.subscriberUid, payload: { order: { no: 7 } } };
      const entered = await ask('POST', `/automations/${uid}/execute`, given);
      expect(entered.body).toEqual({
        ...{ status: 1, message: 'The person has entered', automation_uid: uid },
        run_uid: expect.stringMatching(/^[0-9a-f]{13}$/),
      });
      expect(await runs(uid)).toEqual([{ person: id, node: 'rest', payload: given.payload }]);
      const again = await ask('POST', `/automations/${uid}/execute`, given);
      expect(again.status).toBe(422);
      expect(again.body).toMatchObject({ refused: 'entered_before', errors: { subscriber: [expect.any(String)] } });
      expect(await runs(uid)).toHaveLength(1);
    },
  );

  test('is refused with the reason, and the flow is', async () => {
    const EXECUTE =
      'mutation ($input: ExecuteAutomationInput!) { it: executeAutomation(input: $input) { ... on AutomationEntry { runUid } ... on Error { code } } }';
    const keyed = await active({ ...FLOW, entry: { mode: 'per_key', key: 'cart.id' } });
    const execute = async (uid: string, more: object) =>
      (await graphql(EXECUTE, { input: { uid, subscriber: own.subscriberUid, ...more } })).data.it;
    expect(await execute(keyed, {})).toEqual({ code: 'NO_KEY' });
    expect(errorsOf(await ask('POST', `/automations/${keyed}/execute`, { subscriber: own.subscriberUid }))).toEqual([
      'payload',
    ]);
    expect(await execute(keyed, { payload: { cart: { id: 5 } } })).toEqual({ runUid: expect.any(String) });
    expect(await execute(keyed, { payload: { cart: { id: 5 } } })).toEqual({ code: 'KEY_ENTERED' });
    const idle = await make();
    expect(await execute(idle, {})).toEqual({ code: 'AUTOMATION_NOT_ACTIVE' });
    expect(await execute(keyed, { subscriber: stranger.subscriberUid })).toEqual({ code: 'SUBSCRIBER_NOT_FOUND' });
    const large = { payload: { text: 'x'.repeat(64 * 1024) } };
    expect(errorsOf(await ask('POST', `/automations/${keyed}/execute`, { ...large, subscriber: 'x' }))).toEqual([
      'payload',
    ]);
  });
});

test('a call starts an API-call node for one person, or for everybody', async () => {
  const nodes = [
    { id: 'call', type: 'api_call' },
    { id: 'rest', type: 'wait', for: { days: 1 } },
  ];
  const edges = [
    { from: 'start', to: 'call' },
    { from: 'call', to: 'rest' },
  ];
  const uid = await active({ ...FLOW, nodes, edges });
  const call = (body: object) => ask('POST', `/automations/${uid}/api/call`, body);
  expect(errorsOf(await call({ email: own.subscriberEmail }))).toEqual(['status']);
  const entered = await ask('POST', `/automations/${uid}/execute`, { email: own.subscriberEmail });
  const run_uid = field(entered, 'run_uid');
  expect(errorsOf(await call({ node: 'rest' }))).toEqual(['node']);
  // What names nobody does not mean everybody, and neither does a misspelled name.
  expect(errorsOf(await call({ email: '' }))).toContain('email');
  expect(errorsOf(await call({ subscriber: null }))).toEqual(['subscriber']);
  expect(errorsOf(await call({ email: own.subscriberEmail, subscriber_uid: ' ' }))).toContain('subscriber_uid');
  expect(errorsOf(await call({ subscriber_email: own.subscriberEmail }))).toEqual(['subscriber_email']);
  const blank = { input: { uid, subscriber: '' } };
  const asked = 'mutation($input: CallAutomationInput!) { callAutomation(input: $input) { __typename } }';
  expect(await graphql(asked, blank)).toMatchObject({ data: { callAutomation: { __typename: 'ValidationError' } } });
  expect((await call({})).body).toMatchObject({ run_uid: null, node: 'call', people: 1 });
  const answer = await call({ email: own.subscriberEmail, payload: { paid: true } });
  expect(answer.body).toMatchObject({ status: 1, automation_uid: uid, run_uid, node: 'call', people: 1 });
  const at = sql`SELECT r.node FROM hot.flow_run r JOIN automation a ON a.id = r.automation_id WHERE a.uid = ${uid}`;
  expect(await queryRows(app.ctx.db, at)).toEqual([{ node: 'rest' }]);
  expect((await ask('POST', `/automations/${uid}/api/call`, {}, stranger.token)).status).toBe(403);
});

test('late steps are asked about before an automation goes on', async () => {
  const uid = await active();
  expect((await ask('POST', `/automations/${uid}/execute`, { subscriber: own.subscriberUid })).status).toBe(200);
  await ask('POST', `/automations/${uid}/pause`);
  await app.ctx.db.execute(
    sql`UPDATE hot.flow_run SET wake_at = now() - interval '3 hours' WHERE automation_id = (SELECT id FROM automation WHERE uid = ${uid})`,
  );
  const activate = (body: object) => ask('POST', `/automations/${uid}/activate`, body);
  expect(errorsOf(await activate({}))).toEqual(['status']);
  expect(errorsOf(await activate({ overdue: 'spread' }))).toEqual(['overdue_hours']);
  expect(errorsOf(await activate({ overdue: 'later' }))).toContain('overdue');
  expect(errorsOf(await activate({ overdue: 'now', overdue_hours: 5 }))).toEqual(['overdue_hours']);
  expect((await activate({ overdue: 'spread', overdue_hours: 5 })).body).toMatchObject({
    automation: { status: 'active' },
  });
});

test('the index finds by name, status and list, and sorts', async () => {
  const world = await newWorld(app, smtp);
  const make_ = (name: string) =>
    ask('POST', '/automations', { list_uid: world.listUid, name, flow: FLOW }, world.token);
  for (const name of ['Birthday', 'Anniversary_1', 'Cart']) await make_(name);
  const list = (query: string) => ask('GET', `/automations?${query}`, undefined, world.token);
  expect(namesIn(await list(''))).toEqual(['Automation', 'Birthday', 'Anniversary_1', 'Cart']);
  expect(namesIn(await list('sort=name&direction=desc'))).toEqual(['Cart', 'Birthday', 'Automation', 'Anniversary_1']);
  expect(namesIn(await list('q=Y_'))).toEqual(['Anniversary_1']);
  expect(namesIn(await list('status=active'))).toEqual(['Automation']);
  expect(namesIn(await list(`list_uid=${world.listUid}&per_page=2&page=2`))).toEqual(['Anniversary_1', 'Cart']);
  expect((await list('list_uid=0000000000000')).status).toBe(404);
  expect(errorsOf(await list('status=paused'))).toEqual(['status']);
  expect((await list('colour=red')).status).toBe(422);
  const [row] = field(await list(''), 'data') as Record<string, unknown>[];
  expect(row).toMatchObject({ trigger: 'execute', triggers: ['execute'], status: 'active', live_version: 1 });
  expect(row).not.toHaveProperty('flow');
});

test('the triggers of an unfinished draft are shown as far as they are texts', async () => {
  const uid = await make({ flow: { triggers: [{ type: 'weekly' }, { type: 7 }, 'x', { type: 'y'.repeat(99) }, {}] } });
  expect((await ask('GET', `/automations/${uid}`)).body).toMatchObject({ automation: { triggers: ['weekly'] } });
  const none = await make({ flow: { triggers: 'none' } });
  expect((await ask('GET', `/automations/${none}`)).body).toMatchObject({ automation: { trigger: null } });
});

test('the plan limits them', async () => {
  const limited = await app.newTenant();
  await givePlan(app.ctx.db, limited.customerId, { automation_max: 1 });
  const list = await ask('POST', '/lists', LIST_BODY, limited.token);
  const list_uid = field(list, 'list_uid');
  const answers = await Promise.all(
    [1, 2, 3].map((no) => ask('POST', '/automations', { list_uid, name: `No ${no}` }, limited.token)),
  );
  expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['201', '422', '422']);
  const refused = answers.find(({ status }) => status === 422);
  expect(refused && errorsOf(refused)).toEqual(['name']);
});

test("another customer's automations are closed", async () => {
  const uid = await active();
  const before = await stored(uid);
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { name: 'x' }],
    ['DELETE', '', undefined],
    ['POST', '/publish', { draft_version: 1 }],
    ['POST', '/pause', undefined],
    ['POST', '/copy', undefined],
    ['GET', '/check', undefined],
    ['GET', '/versions', undefined],
    ['POST', '/execute', { subscriber: own.subscriberUid }],
  ] as const)
    expect((await ask(method, `/automations/${uid}${path}`, body, stranger.token)).status, method + path).toBe(403);
  expect(await stored(uid)).toEqual(before);
  const theirs = { list_uid: own.listUid, name: 'x', flow: FLOW };
  expect((await ask('POST', '/automations', theirs, stranger.token)).status).toBe(403);
  const reader = await app.newTenant({ scopes: ['automations:read'] });
  const written = await ask('POST', '/automations', { list_uid: own.listUid, name: 'x' }, reader.token);
  expect(written.status).toBe(403);
});
