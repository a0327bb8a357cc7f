/** Letting in who matches an automation already, over REST, and the same over GraphQL (decision D71). */
import { expect, test } from 'vitest';
import { workEnrolment } from '../../src/domain/automations/entries/work-enrolment.ts';
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
for (const no of [1, 2, 3])
  await ask('POST', '/subscribers', { list_uid: own.listUid, EMAIL: `here${no}@person.example`, tag: 'gold' });

const FLOW = {
  triggers: [{ type: 'tag_added', tag: 'gold' }],
  nodes: [{ id: 'stop', type: 'end' }],
  edges: line('start', 'stop'),
};

/** As the worker does it. */
async function work(uid: string) {
  const rows = await queryRows<{ customerId: bigint; id: bigint }>(
    app.ctx.db,
    sql`SELECT e.customer_id AS "customerId", e.id FROM automation_enrolment e JOIN automation a ON a.id = e.automation_id WHERE a.uid = ${uid} AND e.status = 'running'`,
  );
  for (const key of rows) await workEnrolment(app.ctx, key, { isStopping: () => false, isLastTry: true });
}

test('the look, the act with the number, the progress, and the runs of who came in', async () => {
  const uid = await active(FLOW);
  const path = `/automations/${uid}/enter_existing`;
  expect((await ask('GET', path)).body).toMatchObject({
    ...{ version: 1, matching: 3, may_enter: 3, refused: [], triggers: ['tag_added'], triggers_left_out: [] },
  });
  expect(errorsOf(await ask('POST', path, {})).toSorted()).toEqual(['people', 'per_hour']);
  expect(errorsOf(await ask('POST', path, { people: 40, per_hour: 100 }))).toEqual(['people']);
  const begun = await ask('POST', path, { people: 3, per_hour: 1_000_000 });
  expect([begun.status, begun.body]).toMatchObject([
    201,
    { status: 1, automation_uid: uid, enrolment: { status: 'running', people: 3, per_hour: 1_000_000, entered: 0 } },
  ]);
  expect((await ask('POST', path, { people: 3, per_hour: 1 })).status).toBe(422);
  await work(uid);
  expect((await ask('GET', `/automations/${uid}/enrolments`)).body).toMatchObject({
    enrolments: [{ status: 'done', entered: 3, refused: [], matching: 3, reason: null }],
  });
  expect(field(await ask('GET', `/automations/${uid}/runs`), 'runs')).toHaveLength(3);
  expect((await ask('GET', path)).body).toMatchObject({
    ...{ may_enter: 0, refused: [{ reason: 'entered_before', people: 3 }] },
  });
  expect((await ask('DELETE', path)).status).toBe(422);
  for (const method of ['GET', 'DELETE']) expect((await ask(method, path, undefined, stranger.token)).status).toBe(403);
});

test('the same over GraphQL', async () => {
  const uid = await active({ ...FLOW, triggers: [{ type: 'execute' }] });
  const preview =
    'query ($uid: String!, $all: Boolean) { it: automationEnrolmentPreview(uid: $uid, withoutTriggers: $all) { __typename ... on AutomationEnrolmentPreview { mayEnter } ... on ValidationError { fields { field } } } }';
  expect((await graphql(preview, { uid })).data.it).toMatchObject({
    ...{ __typename: 'ValidationError', fields: [{ field: 'withoutTriggers' }] },
  });
  const { mayEnter } = (await graphql(preview, { uid, all: true })).data.it;
  expect(mayEnter).toBeGreaterThanOrEqual(3);
  const begun = await graphql(
    'mutation ($input: EnrolInAutomationInput!) { it: enrolInAutomation(input: $input) { ... on AutomationEnrolment { status perHour withoutTriggers } } }',
    { input: { uid, people: mayEnter, perHour: 1, withoutTriggers: true } },
  );
  expect(begun.data.it).toEqual({ status: 'running', perHour: 1, withoutTriggers: true });
  await work(uid);
  const cancelled = await graphql(
    'mutation ($uid: String!) { it: cancelAutomationEnrolment(uid: $uid) { ... on AutomationEnrolment { status entered } } }',
    { uid },
  );
  expect(cancelled.data.it).toEqual({ status: 'cancelled', entered: 1 });
});
