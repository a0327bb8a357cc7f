/** Changing a live automation over REST, and the same over GraphQL: where people go is shown, asked for and refused, and those who finished are sent on. */
import { expect, test } from 'vitest';
import { advanceDue } from '../../src/domain/automations/engine/advance-due.ts';
import { movePeople } from '../../src/domain/automations/versions/move-people.ts';
import { findAutomation } from '../../src/domain/automations/automation-store.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { automationRest, errorsOf, line } from '../support/automation-rest.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const own = await newWorld(app, smtp);
const stranger = await newWorld(app, smtp);
const { ask, active, graphql } = automationRest(app, own);

const flowOf = (...nodes: { readonly id: string }[]) => ({
  triggers: [{ type: 'execute' }],
  nodes,
  edges: line('start', ...nodes.map(({ id }) => id)),
});
const wait = (id: string, days = 2) => ({ id, type: 'wait', for: { days } });
const stop = { id: 'stop', type: 'end' };
const run = () => advanceDue(app.ctx, { now: () => new Date(), isStopping: () => false });

let people = 0;
async function enter(uid: string) {
  people += 1;
  const email = `moved${people}@person.example`;
  expect((await ask('POST', '/subscribers', { list_uid: own.listUid, EMAIL: email })).status).toBe(201);
  const entered = await ask('POST', `/automations/${uid}/execute`, { email });
  expect(entered.status, entered.text).toBe(200);
  return String(field(entered, 'run_uid'));
}
const draft = (uid: string, flow: object, version = 1) =>
  ask('PATCH', `/automations/${uid}`, { flow, draft_version: version });

/** As a worker does it. */
async function moveAll(uid: string, version: number) {
  const [found] = await queryRows<{ customerId: bigint; id: bigint }>(
    app.ctx.db,
    sql`SELECT customer_id AS "customerId", id FROM automation WHERE uid = ${uid}`,
  );
  if (!found) throw new Error('The automation is not there.');
  const key = { customerId: found.customerId, automationId: found.id, version };
  await movePeople(app.ctx, { ...key, afterId: 0n, isLast: false }, () => false);
  expect(await findAutomation(app.ctx.db, { customerId: found.customerId, uid })).toMatchObject({
    liveVersion: version,
  });
}

test('who would go where is shown, a missing target is refused with its place, and people are moved', async () => {
  const uid = await active(flowOf(wait('old'), stop));
  const runUid = await enter(uid);
  await draft(uid, flowOf(wait('new', 5), stop));
  const shown = await ask('GET', `/automations/${uid}/moves`);
  expect(shown.body).toEqual({
    draft_version: 2,
    nodes: [{ version: 1, node: 'old', waiting: 1, parked: 0, to: null }],
    faults: [{ node: 'old', field: 'moves', code: 'no_target', message: expect.any(String) }],
  });
  const named = await ask('GET', `/automations/${uid}/moves?moves=${encodeURIComponent('{"old":"new"}')}`);
  expect(named.body).toMatchObject({ nodes: [{ node: 'old', to: 'new' }], faults: [] });
  const QUERY =
    'query ($uid: String!, $moves: JsonObject) { automationMoves(uid: $uid, moves: $moves) { ... on AutomationMoves { draftVersion nodes { node to } faults { code } } } }';
  expect((await graphql(QUERY, { uid, moves: { old: 'new' } })).data.automationMoves).toEqual({
    ...{ draftVersion: 2, nodes: [{ node: 'old', to: 'new' }], faults: [] },
  });
  const refused = await ask('POST', `/automations/${uid}/publish`, { draft_version: 2, moves: {} });
  expect(refused.status).toBe(422);
  expect(errorsOf(refused)).toEqual(['moves']);
  expect(refused.body).toMatchObject({ faults: [{ node: 'old', field: 'moves', code: 'no_target' }] });
  const PUBLISH =
    'mutation ($uid: String!, $moves: JsonObject) { it: publishAutomation(uid: $uid, draftVersion: 2, moves: $moves) { ... on ValidationError { code faults { node code } } } }';
  expect((await graphql(PUBLISH, { uid, moves: { old: 'nowhere' } })).data.it).toEqual({
    code: 'FLOW_HAS_FAULTS',
    faults: [{ node: 'old', code: 'unknown_target' }],
  });
  expect(errorsOf(await ask('POST', `/automations/${uid}/publish`, { draft_version: 2, moves: 'old' }))).toEqual([
    'moves',
  ]);
  const published = await ask('POST', `/automations/${uid}/publish`, { draft_version: 2, moves: { old: 'new' } });
  expect(published.body).toMatchObject({ status: 1, version: 2 });
  expect((await ask('GET', `/automations/${uid}/versions`)).body).toMatchObject({
    versions: [
      { number: 2, moves: { old: 'new' }, moved_at: null },
      { number: 1, moves: null, moved_at: null },
    ],
  });
  await moveAll(uid, 2);
  expect((await ask('GET', `/automations/${uid}/versions`)).body).toMatchObject({
    versions: [{ number: 2, moved_at: expect.any(String) }, {}],
  });
  expect((await ask('GET', `/automations/${uid}/runs/${runUid}`)).body).toMatchObject({
    run: { uid: runUid, version: 2, node: 'new', state: 'waiting' },
    steps: [
      { what: 'entered', node: 'old', version: 1 },
      { what: 'left', node: 'old', version: 1, reason: 'new_version' },
      { what: 'moved', node: 'new', version: 2, reason: 'new_version' },
    ],
  });
  // Each count opens its people.
  for (const query of ['state=left&node=old&version=1', 'state=waiting&node=new&version=2'])
    expect((await ask('GET', `/automations/${uid}/runs?${query}`)).body).toMatchObject({ runs: [{ uid: runUid }] });
});

test('parked people stay by choice', async () => {
  const uid = await active(flowOf(wait('old'), stop));
  await draft(uid, flowOf(wait('new'), stop));
  const without = await ask('POST', `/automations/${uid}/publish`, { draft_version: 2, move_parked: false });
  expect(without.status).toBe(422);
  expect(errorsOf(without)).toEqual(['move_parked']);
  const published = await ask('POST', `/automations/${uid}/publish`, {
    ...{ draft_version: 2, moves: {}, move_parked: false },
  });
  expect(published.status, published.text).toBe(200);
  const [version] = await queryRows(
    app.ctx.db,
    sql`SELECT moves, move_parked AS parked FROM automation_version v JOIN automation a ON a.customer_id = v.customer_id AND a.id = v.automation_id
         WHERE a.uid = ${uid} AND v.number = 2`,
  );
  expect(version).toEqual({ moves: {}, parked: false });
});

test('those who finished are counted, and sent to a node when they are no more than was seen', async () => {
  const uid = await active(flowOf(stop));
  await enter(uid);
  await run();
  await draft(uid, flowOf(wait('more'), stop));
  await ask('POST', `/automations/${uid}/publish`, { draft_version: 2 });
  expect((await ask('GET', `/automations/${uid}/finished`)).body).toEqual({ automation_uid: uid, people: 1 });
  const COUNT = 'query ($uid: String!) { automationFinished(uid: $uid) { ... on AutomationFinished { people } } }';
  expect((await graphql(COUNT, { uid })).data.automationFinished).toEqual({ people: 1 });
  const missing = await ask('POST', `/automations/${uid}/finished/send`, {});
  expect(errorsOf(missing).toSorted()).toEqual(['node', 'people']);
  const fewer = await ask('POST', `/automations/${uid}/finished/send`, { node: 'more', people: 0 });
  expect(fewer.status).toBe(422);
  expect(fewer.text).toContain('an earlier version: 1.');
  const elsewhere = await ask('POST', `/automations/${uid}/finished/send`, { node: 'none', people: 1 });
  expect(errorsOf(elsewhere)).toEqual(['node']);
  const sent = await ask('POST', `/automations/${uid}/finished/send`, { node: 'more', people: 1 });
  expect(sent.body).toMatchObject({ status: 1, automation_uid: uid, people: 1 });
  const SEND =
    'mutation ($uid: String!) { it: sendToFinished(uid: $uid, node: "more", people: 1) { ... on SentToFinished { uid people } } }';
  expect((await graphql(SEND, { uid })).data.it, 'nobody has been let in yet').toEqual({ uid, people: 1 });
});

test('others see and do nothing', async () => {
  const uid = await active(flowOf(wait('old'), stop));
  for (const [method, path, body] of [
    ['GET', `/automations/${uid}/moves`, undefined],
    ['GET', `/automations/${uid}/finished`, undefined],
    ['POST', `/automations/${uid}/finished/send`, { node: 'old', people: 1 }],
  ] as const)
    expect((await ask(method, path, body, stranger.token)).status).toBe(403);
});
