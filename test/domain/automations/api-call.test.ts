/** API-call nodes (D27): people wait there until they are called, one by one or all at once. */
import { callEverybodyJob } from '../../../src/jobs/automation-jobs.ts';
import { beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { executeApiCall } from '../../../src/domain/automations/api-calls/execute-api-call.ts';
import { executeAutomation } from '../../../src/domain/automations/entries/execute-automation.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { updateAutomation } from '../../../src/domain/automations/update-automation.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { createTenant } from '../../support/tenant.ts';

const HOUR_MS = 3_600_000;
const world = await startFlowWorld(new Date().toISOString());
const triggers = [{ type: 'execute' }];
const flow = {
  triggers,
  nodes: [
    { id: 'paid', type: 'api_call', for: { hours: 2 } },
    { id: 'large', type: 'condition', if: { payload: { path: 'total', number: { gt: 100 } } } },
    { id: 'vip', type: 'add_tag', tag: 'vip' },
    { id: 'never', type: 'add_tag', tag: 'never' },
  ],
  edges: [
    { from: 'start', to: 'paid' },
    { from: 'paid', to: 'large' },
    { from: 'paid', port: 'timeout', to: 'never' },
    { from: 'large', port: 'yes', to: 'vip' },
  ],
};
const published = await world.publish(flow);
const call = (given: object, ctx = world.ctx) => executeApiCall(ctx, published.uid, given);

const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Calls go by the clock of the database, and so do entries here. */
const toPresent = () => world.run(new Date().toISOString());

beforeEach(async () => {
  await world.ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
  await toPresent();
});

/** Does what the queue has for all who wait. */
async function runJobs(): Promise<void> {
  const jobs = await queryRows<{ payload: unknown }>(
    world.ctx.db,
    sql`DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks t
         WHERE t.id = j.task_id AND t.identifier = ${callEverybodyJob.name} RETURNING j.payload`,
  );
  const helpers = { workerId: 'w', jobId: '1', attempt: 1, attemptsMax: 1 };
  const task = automationTasks.find(({ name }) => name === callEverybodyJob.name);
  for (const { payload } of jobs)
    await task?.run(world.ctx, payload, { ...helpers, abortSignal: new AbortController().signal });
}

async function newPeople(count: number): Promise<bigint[]> {
  const ids = await subscriberPeople(world.ctx.db, world.list, count);
  await world.enter(published, ids, { payload: { order: 'a' } });
  return ids;
}

test('one person is called once, with a payload that is read afterwards beside the first one', async () => {
  const [called = 0n, waits = 0n] = await newPeople(2);
  const subscriber = subscriberUid(called);
  expect(await call({ subscriber, payload: { total: 120 } })).toEqual({
    ...{ node: 'paid', people: 1, runIds: [expect.anything()] },
  });
  expect(await errorOf(call({ subscriber }))).toMatchObject({ code: 'NOT_WAITING' });
  const [row] = await queryRows<{ payload: unknown }>(
    world.ctx.db,
    sql`SELECT p.payload FROM hot.flow_payload p JOIN hot.flow_run r ON r.id = p.run_id WHERE r.person_id = ${called}`,
  );
  expect(row?.payload).toEqual({ order: 'a', total: 120 });
  await toPresent();
  expect(await world.steps(called)).toEqual([
    ...['paid entered execute', 'paid passed next called', 'large passed yes', 'vip passed next'],
  ]);
  // Who was not called goes by the time-out, and cannot be called then.
  await world.run(new Date(world.now().getTime() + 2 * HOUR_MS).toISOString());
  expect(await world.steps(waits)).toEqual([...['paid entered execute', 'paid passed timeout', 'never passed next']]);
  expect(await errorOf(call({ subscriber: subscriberUid(waits) }))).toMatchObject({ code: 'NOT_WAITING' });
});

test('everybody who waits is called in a job, in batches; who comes later, and who is called already, is not', async () => {
  const ids = await newPeople(2_100);
  expect(await call({ payload: { total: 5 } })).toEqual({ node: 'paid', people: 2_100, runIds: [] });
  await setAutomationStatus(world.ctx, published.uid, 'inactive');
  await runJobs();
  const stepsOf = async () => {
    const rows = await queryRows<{ steps: number; runs: number }>(
      world.ctx.db,
      sql`SELECT count(*)::int AS steps, count(DISTINCT run_id)::int AS runs FROM hot.flow_step
           WHERE person_id = ANY (${ids}::bigint[]) AND node = 'paid' AND reason = 'called'`,
    );
    return rows[0];
  };
  // Paused: the call waits too.
  expect(await stepsOf()).toEqual({ steps: 0, runs: 0 });
  await setAutomationStatus(world.ctx, published.uid, 'active');
  const [later = 0n] = await subscriberPeople(world.ctx.db, world.list, 1);
  await world.run(new Date(Date.now() + HOUR_MS / 2).toISOString());
  await world.enter(published, [later]);
  await Promise.all([runJobs(), runJobs()]);
  expect(await stepsOf()).toEqual({ steps: 2_100, runs: 2_100 });
  expect(await world.steps(later)).toEqual(['paid entered execute']);
});

test('who waits in an older version is called too; a node must be named when there are several', async () => {
  const { uid } = await world.publish({ ...flow, entry: { mode: 'after_end' } });
  const [old = 0n, fresh = 0n] = await subscriberPeople(world.ctx.db, world.list, 2);
  expect(await executeAutomation(world.ctx, uid, { subscriber: subscriberUid(old) })).toMatchObject({
    runId: expect.anything(),
  });
  const second = { id: 'sent', type: 'api_call' };
  await updateAutomation(world.ctx, uid, {
    draftVersion: 1,
    flow: {
      ...flow,
      nodes: [...flow.nodes, second],
      edges: [...flow.edges, { from: 'vip', to: 'sent' }],
    },
  });
  await publishAutomation(world.ctx, uid, 2);
  expect(await executeAutomation(world.ctx, uid, { subscriber: subscriberUid(fresh) })).toMatchObject({
    runId: expect.anything(),
  });
  expect(await errorOf(executeApiCall(world.ctx, uid, {}))).toMatchObject({
    fields: { node: ['Name one of the API-call nodes: paid, sent.'] },
  });
  expect(await errorOf(executeApiCall(world.ctx, uid, { node: 'vip' }))).toMatchObject({
    fields: { node: expect.anything() },
  });
  expect(await executeApiCall(world.ctx, uid, { node: 'paid' })).toMatchObject({ people: 2 });
  await runJobs();
  for (const id of [old, fresh]) expect((await world.steps(id)).at(-1)).toBe('paid passed next called');
});

test('what may not be called is refused: others, stopped flows, payloads that are too large', async () => {
  const [person = 0n] = await newPeople(1);
  const subscriber = subscriberUid(person);
  const stranger = await createTenant(world.ctx);
  expect(await errorOf(call({ subscriber }, stranger))).toMatchObject({ code: 'AUTOMATION_NOT_FOUND' });
  expect(await errorOf(call({ subscriber, payload: { text: 'x'.repeat(66_000) } }))).toMatchObject({
    fields: { payload: ['The payload may not be larger than 64 KiB.'] },
  });
  expect(await errorOf(call({ subscriber, payload: ['x'] }))).toMatchObject({ fields: { payload: expect.anything() } });
  await setAutomationStatus(world.ctx, published.uid, 'inactive');
  expect(await errorOf(call({ subscriber }))).toMatchObject({ code: 'AUTOMATION_NOT_ACTIVE' });
  await setAutomationStatus(world.ctx, published.uid, 'active');
  // What the run has already and what the call brings do not fit together.
  await world.ctx.db.execute(
    sql`UPDATE hot.flow_payload p SET payload = jsonb_build_object('old', repeat('x', 250000)) FROM hot.flow_run r WHERE r.id = p.run_id AND r.person_id = ${person}`,
  );
  expect(await errorOf(call({ subscriber, payload: { text: 'x'.repeat(60_000) } }))).toMatchObject({
    fields: { payload: [expect.stringContaining('too large together')] },
  });
  expect(await world.steps(person)).toEqual(['paid entered execute']);
});

test('entries of an earlier version count in a mode without keys, long keys stay different, and days need no end', async () => {
  const nodes = [{ id: 'rest', type: 'wait', for: { days: 30 } }];
  const edges = [{ from: 'start', to: 'rest' }];
  const { uid } = await world.publish({ triggers, nodes, edges, entry: { mode: 'per_key', key: 'cart' } });
  const [person = 0n] = await subscriberPeople(world.ctx.db, world.list, 1);
  const enter = (cart: string) =>
    executeAutomation(world.ctx, uid, { subscriber: subscriberUid(person), payload: { cart } });
  const long = 'c'.repeat(300);
  expect(await enter(`${long}1`)).toMatchObject({ runId: expect.anything() });
  expect(await enter(`${long}2`)).toMatchObject({ runId: expect.anything() });
  expect(await enter(`${long}2`)).toEqual({ refused: 'key_entered' });
  for (const [version, entry, answer] of [
    [1, { mode: 'once' }, { refused: 'entered_before' }],
    [2, { mode: 'after_end' }, { refused: 'in_flow' }],
    [3, { mode: 'after_days', days: 1 }, { refused: 'too_soon' }],
  ] as const) {
    await updateAutomation(world.ctx, uid, { draftVersion: version, flow: { triggers, nodes, edges, entry } });
    await publishAutomation(world.ctx, uid, version + 1);
    expect(await enter('x')).toEqual(answer);
  }
  await world.ctx.db.execute(
    sql`UPDATE hot.flow_entry SET entered_at = entered_at - interval '25 hours' WHERE person_id = ${person}`,
  );
  expect(await enter('x')).toMatchObject({ runId: expect.anything() });
});

test('an empty person is refused, and never means everybody; the payload for everybody has a smaller limit', async () => {
  const [person = 0n] = await newPeople(1);
  for (const subscriber of ['', '  ', null])
    expect(await errorOf(call({ subscriber }))).toMatchObject({
      fields: { subscriber: [expect.stringContaining('Leave it out')] },
    });
  const payload = { text: 'x'.repeat(4_100) };
  expect(await errorOf(call({ payload }))).toMatchObject({ fields: { payload: [expect.stringContaining('4 KiB')] } });
  await runJobs();
  expect(await world.steps(person)).toEqual(['paid entered execute']);
  expect(await call({ subscriber: subscriberUid(person), payload })).toMatchObject({ people: 1 });
});

test('a condition keeps some answers, and of large values the beginning', async () => {
  const paths = ['text', 'list', 'total', ...Array.from({ length: 197 }, () => 'text')];
  const questions = paths.map((path) => ({ payload: { path, isPresent: true } }));
  const groups = Array.from({ length: 10 }, (_, no) => ({ all: questions.slice(no * 20, no * 20 + 20) }));
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'asks', type: 'condition', if: { all: groups } }],
    edges: [{ from: 'start', to: 'asks' }],
  });
  const person = await world.person();
  const payload = { text: 'x'.repeat(30_000), list: Array.from({ length: 5_000 }, () => 1), total: 7 };
  await world.enter(flow, [person], { payload });
  await world.run();
  const [step] = await queryRows<{ details: { answers: { is: boolean; value: unknown }[] } }>(
    world.ctx.db,
    sql`SELECT details FROM hot.flow_step WHERE person_id = ${person} AND node = 'asks' AND what = 'passed'`,
  );
  expect(step?.details.answers).toHaveLength(100);
  expect(step?.details.answers.slice(0, 3)).toEqual([
    { is: true, value: `${'x'.repeat(200)}…` },
    { is: true, value: '…' },
    { is: true, value: 7 },
  ]);
});

test('a condition about the person keeps the values that it read', async () => {
  await addListField(world.ctx, world.list.uid, { type: 'text', label: 'Country', tag: 'COUNTRY' });
  const person = { all: [{ field: { tag: 'COUNTRY', text: { is: 'AT' } } }, { tags: { hasAny: ['vip'] } }] };
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'asks', type: 'condition', if: { any: [{ person }, { person: { did: { event: 'paid' } } }] } }],
    edges: [{ from: 'start', to: 'asks' }],
  });
  const people = [
    await world.person({ fieldValues: { COUNTRY: 'AT' }, tags: ['vip'] }),
    await world.person({ fieldValues: { COUNTRY: 'x'.repeat(300) } }),
    await world.person(),
  ];
  await world.enter(flow, people);
  await world.run();
  const steps = await queryRows<{ details: unknown }>(
    world.ctx.db,
    sql`SELECT details FROM hot.flow_step WHERE person_id = ANY (${people}::bigint[]) AND node = 'asks' AND what = 'passed' ORDER BY person_id`,
  );
  expect(steps.map(({ details }) => details)).toEqual([
    { answers: [{ is: true, values: { COUNTRY: 'AT', tags: ['vip'] } }, { is: false }] },
    { answers: [{ is: false, values: { COUNTRY: `${'x'.repeat(200)}…`, tags: [] } }, { is: false }] },
    { answers: [{ is: false, values: { COUNTRY: null, tags: [] } }, { is: false }] },
  ]);
});

test('of all questions of a condition together a hundred values of the person are kept', async () => {
  const tags = Array.from({ length: 30 }, (_, no) => `LONG${no}`);
  for (const tag of tags) await addListField(world.ctx, world.list.uid, { type: 'text', label: tag, tag });
  const person = { any: tags.map((tag) => ({ field: { tag, text: { is: 'x' } } })) };
  const groups = Array.from({ length: 3 }, () => ({ any: Array.from({ length: 20 }, () => ({ person })) }));
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'asks', type: 'condition', if: { any: groups } }],
    edges: [{ from: 'start', to: 'asks' }],
  });
  const id = await world.person({ fieldValues: Object.fromEntries(tags.map((tag) => [tag, 'y'.repeat(300)])) });
  await world.enter(flow, [id]);
  await world.run();
  const [step] = await queryRows<{ details: { answers: { is: boolean; values?: Record<string, string> }[] } }>(
    world.ctx.db,
    sql`SELECT details FROM hot.flow_step WHERE person_id = ${id} AND node = 'asks' AND what = 'passed'`,
  );
  const counts = step?.details.answers.map(({ values }) => Object.keys(values ?? {}).length);
  expect(counts).toEqual([30, 30, 30, 10, ...Array.from({ length: 56 }, () => 0)]);
});
