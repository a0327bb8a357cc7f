/** What stops a flow that does harm: a node at which too many fail (D87), and people who enter again and again (D83). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { advanceNode } from '../../../src/domain/automations/engine/advance-node.ts';
import { countBlocked } from '../../../src/domain/automations/entries/entry-store.ts';
import { retryParked } from '../../../src/domain/automations/runs/parked-runs.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { blockedPeopleMailJob, pausedNodeMailJob } from '../../../src/jobs/automation-jobs.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld('2126-11-27T08:00:00Z');
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const triggers = [{ type: 'execute' }];

/** Does the job, and answers the subjects and first sentences of its mails. */
async function mailsOf(name: string, payload: object): Promise<readonly string[]> {
  await world.ctx.db.execute(
    sql`INSERT INTO customer (uid, name, is_operator) SELECT 'operator00000', 'Operator', true WHERE NOT EXISTS (SELECT 1 FROM customer WHERE is_operator)`,
  );
  const before = await queryRows<{ id: bigint }>(world.ctx.db, sql`SELECT id FROM hot.message`);
  const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
  await automationTasks.find((task) => task.name === name)?.run(world.ctx, payload, helpers);
  const mails = await queryRows<{ content: { subject: string; paragraphs: string[] } }>(
    world.ctx.db,
    sql`SELECT content FROM hot.message WHERE id <> ALL (${before.map(({ id }) => id)}::bigint[])`,
  );
  return mails.map(({ content }) => `${content.subject}: ${content.paragraphs[0]}`);
}

test('a node at which too many fail is paused, others go on, and trying again resumes it', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'mark', type: 'add_tag', tag: 'too many' },
      { id: 'stop', type: 'end' },
    ],
    edges: line('start', 'mark', 'stop'),
  });
  const people = await subscriberPeople(world.ctx.db, world.list, 30);
  const full = people.slice(0, 10);
  await world.ctx.db.execute(
    sql`UPDATE subscriber SET tags = ARRAY(SELECT 't' || n FROM generate_series(1, 1000) n) WHERE id = ANY (${full}::bigint[])`,
  );
  await world.enter(flow, people.slice(0, 20));
  await world.run();
  expect(await world.counts(flow)).toMatchObject({ mark: 'entered 20, passed 10, parked 10' });
  await world.enter(flow, people.slice(20));
  expect(await world.run(), 'nobody is moved there').toBe(0);
  const node = { key: { ...flow.key, node: 'mark' } };
  expect(await advanceNode(world.ctx, node, world.now()), 'nor by who has found it before').toMatchObject({ moved: 0 });
  const jobs = await queryRows<{ payload: object }>(
    world.ctx.db,
    sql`SELECT payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id WHERE t.identifier = ${pausedNodeMailJob.name}`,
  );
  expect(jobs).toHaveLength(1);
  expect(jobs[0]?.payload).toMatchObject({ node: 'mark', moved: 20, parked: 10 });
  expect(await mailsOf(pausedNodeMailJob.name, jobs[0]?.payload ?? {})).toEqual([
    'A step of the automation Flow was paused: In the last hour, 10 of 20 people could not be moved on at the step mark of the automation Flow. They are parked, and the step was paused: nobody else fails there.',
  ]);
  await world.ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ANY (${full}::bigint[])`);
  await retryParked(world.ctx, flow.uid, { version: 1, node: 'mark' });
  // Parked runs are due by the clock of the database, which is long behind.
  await world.run('2127-02-11T00:00:00Z');
  expect(await world.counts(flow)).toMatchObject({ mark: 'entered 30, passed 30', stop: 'entered 30, passed 30' });
});

test('whoever enters more than 20 times a day is blocked until the flow is activated again', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'stop', type: 'end' }],
    edges: line('start', 'stop'),
    entry: { mode: 'per_key', key: 'cart' },
  });
  const [person, other] = [await world.person(), await world.person()];
  const enter = (who: bigint, key: number) => world.enter(flow, [who], { entryKey: `k${key}` });
  for (let key = 1; key <= 20; key++) expect(await enter(person, key)).toEqual([{ runId: expect.anything() }]);
  for (let key = 21; key <= 22; key++) expect(await enter(person, key)).toEqual([{ refused: 'too_often' }]);
  const key = { customerId: world.list.customerId, automationId: flow.key.automationId };
  expect(await countBlocked(world.ctx.db, key)).toBe(1);
  const blocked = await queryRows(
    world.ctx.db,
    sql`SELECT 1 FROM graphile_worker._private_jobs WHERE key = ${`${blockedPeopleMailJob.name} ${flow.key.automationId}`}`,
  );
  expect(blocked, 'one mail for all').toHaveLength(1);
  const names = { customerId: String(key.customerId), automationId: String(key.automationId) };
  const [mail, ...more] = await mailsOf(blockedPeopleMailJob.name, names);
  expect(mail).toContain('One person has entered the automation Flow more than 20 times within a day.');
  expect(more).toEqual([]);
  expect(await mailsOf(blockedPeopleMailJob.name, names), 'once a day').toEqual([]);
  await world.run(new Date(world.now().getTime() + 3 * 86_400_000).toISOString());
  expect(await enter(person, 23), 'also days later').toEqual([{ refused: 'too_often' }]);
  expect(await enter(other, 1)).toEqual([{ runId: expect.anything() }]);
  await setAutomationStatus(world.ctx, flow.uid, 'inactive');
  await setAutomationStatus(world.ctx, flow.uid, 'active', { mode: 'now' });
  expect(await enter(person, 24)).toEqual([{ runId: expect.anything() }]);
});

test('a run that its step leaves due as it was is tried again later, and parked after five times', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'ask', type: 'wait_for_event', event: { type: 'event', name: 'paid' }, for: { hours: 1 } },
      { id: 'stop', type: 'end' },
    ],
    edges: line('start', 'ask', 'stop'),
  });
  // No flow that can be published does that: a wait that is over before it begins.
  await world.ctx.db.execute(
    sql`UPDATE automation_version SET flow = jsonb_set(flow, '{nodes,0,for}', '{"hours": -1}') WHERE automation_id = ${flow.key.automationId}`,
  );
  const person = await world.person();
  await world.enter(flow, [person]);
  await world.ctx.db.execute(sql`UPDATE hot.flow_run SET reason = 'anew' WHERE person_id = ${person}`);
  const begun = world.now().getTime();
  for (const minutes of [0, 1, 3, 7]) {
    await world.run(new Date(begun + minutes * 60_000).toISOString());
    expect(await world.counts(flow)).toEqual({ ask: 'entered 1, waiting 1' });
    expect(await world.run(), 'it waits for its time').toBe(0);
  }
  await world.run(new Date(begun + 15 * 60_000).toISOString());
  expect(await world.counts(flow)).toEqual({ ask: 'entered 1, parked 1' });
  expect(await world.steps(person)).toEqual(['ask entered execute', 'ask parked failed']);
});
