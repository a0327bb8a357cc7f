/** Live tests of automations (D91), from the request to the mailbox: waits of a second, mails to one address, and nothing that counts or changes anybody. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import { deleteOldFlowTests, endLostFlowTests } from '../../src/domain/automations/live-test/old-flow-test-store.ts';
import { automationRest, errorsOf, line } from '../support/automation-rest.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const owner = await app.newTenant();
const { call, mailTo, mailsTo, newList, add } = mailWorld(app, owner);
const list = await newList();
const { ask, make, active, graphql } = automationRest(app, { token: owner.token, listUid: list.uid });

const template = async (subject: string) => {
  const html = '<p>{FIRST_NAME} {{ payload.total }}</p>';
  return String(field(await call('POST', '/templates', { name: 'Mail', subject, html }), 'template_uid'));
};
const [hello, again] = [await template('Hello {FIRST_NAME}'), await template('Again')];
const other = await newList();

const FLOW = {
  triggers: [{ type: 'subscribed' }],
  nodes: [
    { id: 'hello', type: 'send_mail', templateUid: hello },
    { id: 'rest', type: 'wait', for: { days: 3 } },
    { id: 'opened', type: 'condition', if: { opened: { mail: 'hello' } } },
    { id: 'tag', type: 'add_tag', tag: 'tested' },
    { id: 'again', type: 'send_mail', templateUid: again, subject: 'Once more, {FIRST_NAME}', notAgainWithinDays: 30 },
    { id: 'asks', type: 'wait_for_event', event: { type: 'event', name: 'paid' }, for: { hours: 2 } },
    { id: 'bye', type: 'unsubscribe' },
    { id: 'move', type: 'move_to_list', listUid: other.uid },
    { id: 'never', type: 'send_mail', templateUid: again },
  ],
  edges: [
    ...line('start', 'hello', 'rest', 'opened'),
    { from: 'opened', port: 'yes', to: 'tag' },
    { from: 'opened', port: 'no', to: 'never' },
    ...line('tag', 'again', 'asks'),
    { from: 'asks', port: 'timeout', to: 'bye' },
    ...line('bye', 'move'),
  ],
};

interface Shown {
  readonly uid: string;
  readonly status: string;
  readonly reason: string | null;
  readonly node: string | null;
  readonly steps: readonly {
    readonly node: string;
    readonly at: string;
    readonly what: string;
    readonly port: string | null;
    readonly reason: string | null;
    readonly message_uid: string | null;
  }[];
}
const begin = async (uid: string, body: object) => {
  const begun = await ask('POST', `/automations/${uid}/tests`, body);
  expect(begun.status, begun.text).toBe(201);
  return field(begun, 'test') as Shown;
};
const shown = async (uid: string, test: string) =>
  field(await ask('GET', `/automations/${uid}/tests/${test}`), 'test') as Shown;
const ended = (uid: string, test: string) =>
  until(async () => {
    const found = await shown(uid, test);
    return found.status === 'running' ? undefined : found;
  });
const stepsOf = ({ steps }: Shown) =>
  steps.map(({ node, what, port, reason }) => [node, what, port, reason].filter((one) => one !== null).join(' '));
/** How many rows tables have that count, or keep what people did. */
const counted = async () => {
  const tables = [
    'flow_run',
    'flow_entry',
    'flow_node',
    'flow_step',
    'flow_payload',
    'capped_message',
    'delivery_counter',
  ];
  const counts = tables.map((name) => raw(`SELECT '${name}' AS name, count(*)::int AS rows FROM hot.${name}`));
  const rows = await queryRows<{ name: string; rows: number }>(
    app.ctx.db,
    counts.reduce((all, one) => sql`${all} UNION ALL ${one}`),
  );
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]));
};

test('a draft goes by its waits in seconds and by chosen ways; its mails arrive as tests, and nothing else happens', async () => {
  const cara = await add(list, 'cara@live.example', { FIRST_NAME: 'Cara' });
  const uid = await make({ flow: FLOW });
  const before = await counted();
  const begun = await begin(uid, {
    ...{
      email: 'boss@live.example',
      subscriber: cara,
      wait_seconds: 1,
      ports: { opened: 'yes' },
      payload: { total: 7 },
    },
  });
  expect(begun).toMatchObject({ status: 'running', node: 'hello', steps: [] });
  const done = await ended(uid, begun.uid);
  expect(stepsOf(done)).toEqual([
    ...[
      'hello passed next',
      'rest passed next',
      'opened passed yes chosen',
      'tag passed next not_done',
      'again passed next',
    ],
    ...['asks passed timeout', 'bye passed next not_done', 'move passed next not_done'],
  ]);
  expect(done).toMatchObject({ status: 'done', reason: null, node: null });
  const at = (node: string) => Date.parse(`${done.steps.find((one) => one.node === node)?.at}Z`);
  // The virtual clock: the wait took three days, the event's two hours more.
  expect(Math.round((at('bye') - at('hello')) / 3_600_000)).toBe(3 * 24 + 2);
  const mails = await until(async () => {
    const all = await mailsTo('boss@live.example');
    return all.length === 2 ? all : undefined;
  });
  // On a busy machine the second one may be there first.
  expect(new Set(mails.map(({ subject }) => subject))).toEqual(
    new Set(['[Test] Hello Cara', '[Test] Once more, Cara']),
  );
  expect(mails.find(({ subject }) => subject === '[Test] Hello Cara')?.html).toContain('Cara 7');
  const message = await until(async () => {
    const found = field(await call('GET', `/messages/${done.steps[0]?.message_uid}`), 'message');
    return Reflect.get(Object(found), 'state') === 'sent' ? found : undefined;
  });
  expect(message).toMatchObject({ email: 'boss@live.example', purpose: 'test' });
  // Counts nowhere, changes nobody.
  expect(await counted()).toEqual(before);
  expect(await mailsTo('cara@live.example')).toEqual([]);
  const person = field(await call('GET', `/subscribers/${cara}`), 'subscriber');
  expect(person).toMatchObject({ status: 'subscribed' });
  expect(JSON.stringify(person)).not.toContain('tested');
  expect(field(await ask('GET', `/automations/${uid}/runs`), 'runs')).toEqual([]);
  const listed = await graphql(
    'query ($uid: String!) { it: automationTests(uid: $uid) { ... on AutomationTestsSuccess { nodes { uid status draftVersion version } } } }',
    { uid },
  );
  expect(listed.data.it.nodes).toEqual([{ uid: begun.uid, status: 'done', draftVersion: 1, version: null }]);
});

test('a version, whatever the draft is by now, with sample values; who has the address lends theirs', async () => {
  // Nobody enters by itself: all mails are of tests.
  const uid = await active({
    ...FLOW,
    triggers: [{ type: 'execute' }],
    nodes: FLOW.nodes.slice(0, 3),
    edges: line('start', 'hello', 'rest', 'opened'),
  });
  expect((await ask('PATCH', `/automations/${uid}`, { flow: { nodes: [] }, draft_version: 1 })).status).toBe(200);
  const faulty = await ask('POST', `/automations/${uid}/tests`, { email: 'x@live.example' });
  expect([faulty.status, Object.keys(Object(faulty.body))]).toEqual([422, expect.arrayContaining(['faults'])]);
  const begun = await begin(uid, { email: 'nobody@live.example', version: 1, wait_seconds: 1, mark_subject: 0 });
  expect(stepsOf(await ended(uid, begun.uid))).toEqual(['hello passed next', 'rest passed next', 'opened passed no']);
  expect((await mailTo('nobody@live.example')).subject).toBe('Hello');
  await add(list, 'dora@live.example', { FIRST_NAME: 'Dora' });
  await begin(uid, { email: 'dora@live.example', version: 1 });
  expect((await mailTo('dora@live.example')).subject).toBe('[Test] Hello Dora');
});

test('it ends where a node waits without end, and by a cancel; what is wrong is said', async () => {
  const uid = await make({
    flow: {
      triggers: [{ type: 'execute' }],
      nodes: [
        { id: 'rest', type: 'wait', for: { hours: 1 } },
        { id: 'call', type: 'api_call' },
      ],
      edges: line('start', 'rest', 'call'),
    },
  });
  const waiting = await begin(uid, { email: 'w@live.example', wait_seconds: 1 });
  expect(stepsOf(await ended(uid, waiting.uid))).toEqual(['rest passed next', 'call waits']);
  const long = await begin(uid, { email: 'w@live.example', wait_seconds: 600 });
  const path = `/automations/${uid}/tests/${long.uid}`;
  expect(field(await ask('DELETE', path), 'test')).toMatchObject({ status: 'cancelled', steps: [] });
  expect((await ask('DELETE', path)).status).toBe(422);
  const errors = async (body: object) =>
    errorsOf(await ask('POST', `/automations/${uid}/tests`, { email: 'w@live.example', ...body }));
  expect(await errors({ email: 'nobody' })).toEqual(['email']);
  expect(await errors({ wait_seconds: 601 })).toEqual(['wait_seconds']);
  expect(await errors({ version: 1 })).toEqual(['status']);
  expect(await errors({ ports: { nowhere: 'yes' } })).toEqual(['ports']);
  expect(await errors({ ports: { rest: 'yes' } })).toEqual(['ports']);
  const stranger = await app.newTenant();
  expect((await ask('GET', path, undefined, stranger.token)).status).toBe(403);
  expect((await ask('GET', `/automations/${uid}/tests/0123456789abc`)).status).toBe(404);
  for (let no = 0; no < 5; no++) await begin(uid, { email: 'w@live.example', wait_seconds: 600 });
  expect((await ask('POST', `/automations/${uid}/tests`, { email: 'w@live.example' })).status).toBe(429);
  // Its job was dropped.
  await app.ctx.db.execute(
    sql`UPDATE automation_test SET next_at = now() - interval '2 hours' WHERE status = 'running' AND automation_id = (SELECT id FROM automation WHERE uid = ${uid})`,
  );
  expect(await endLostFlowTests(app.ctx.db)).toBe(5);
  // After seven days they are gone.
  await app.ctx.db.execute(
    sql`UPDATE automation_test SET created_at = now() - interval '8 days' WHERE automation_id = (SELECT id FROM automation WHERE uid = ${uid})`,
  );
  await deleteOldFlowTests(app.ctx.db, 1_000);
  expect(field(await ask('GET', `/automations/${uid}/tests`), 'tests')).toEqual([]);
});
