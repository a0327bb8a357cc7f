/** Who has gone leaves flows wherever they are: where they are parked, wait without end, or waited while the flow was stopped (D76, D80, D85). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { deleteSubscriber } from '../../../src/domain/audience/delete-subscriber.ts';
import { unsubscribeSubscriber } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { lookAgain } from '../../../src/domain/automations/stopping/look-again.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { lookAgainJob } from '../../../src/jobs/automation-jobs.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });

const triggers = [{ type: 'execute' }];
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const refOf = (id: bigint) => ({ subscriber: subscriberUid(id), listUid: list.uid });
/** From the beginning of the file: it may go on after midnight. */
const BEGIN = Date.now();
const inDays = (days: number) => new Date(BEGIN + days * 24 * HOUR_MS).toISOString().slice(0, 10);
const helpers = { workerId: 'w', jobId: '1', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };

/** Runs the jobs of activations that wait; returns how many they were. */
async function lookedAgain(): Promise<number> {
  const jobs = await queryRows<{ payload: unknown }>(
    ctx.db,
    sql`DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks t
         WHERE t.id = j.task_id AND t.identifier = ${lookAgainJob.name} RETURNING j.payload`,
  );
  const task = automationTasks.find(({ name }) => name === lookAgainJob.name);
  for (const { payload } of jobs) await task?.run(ctx, payload, helpers);
  return jobs.length;
}

const waiting = { triggers, nodes: [{ id: 'call', type: 'api_call' }], edges: line('start', 'call') };

test('who is deleted leaves where they are parked, and where a flow that unsubscribed them waits without end', async () => {
  const marking = { triggers, nodes: [{ id: 'mark', type: 'add_tag', tag: 'more' }], edges: line('start', 'mark') };
  const parked = await world.publish(marking);
  const leaving = await world.publish({
    triggers,
    nodes: [{ id: 'out', type: 'unsubscribe' }, ...waiting.nodes],
    edges: line('start', 'out', 'call'),
  });
  const [full, other, ann] = [await world.person(), await world.person(), await world.person()];
  await ctx.db.execute(
    sql`UPDATE subscriber SET tags = ARRAY(SELECT 't' || n FROM generate_series(1, 1000) n) WHERE id IN (${full}, ${other})`,
  );
  await world.enter(parked, [full, other]);
  await world.enter(leaving, [ann]);
  await world.run();
  await world.follow();
  expect(await world.counts(parked)).toEqual({ mark: 'entered 2, parked 2' });
  expect(await world.counts(leaving)).toMatchObject({ call: 'entered 1, waiting 1' });
  await deleteSubscriber(ctx, refOf(full));
  await unsubscribeSubscriber(ctx, refOf(other));
  await deleteSubscriber(ctx, refOf(ann));
  await world.follow();
  expect((await world.steps(full)).at(-1)).toBe('mark left deleted');
  expect((await world.steps(other)).at(-1)).toBe('mark left unsubscribed');
  expect((await world.steps(ann)).at(-1)).toBe('call left deleted');
  expect(await world.counts(parked)).toEqual({ mark: 'entered 2, left 2' });
  expect(await world.counts(leaving)).toMatchObject({ call: 'entered 1, left 1' });
});

test('what happened to people while a flow was stopped counts when it goes on: who has gone leaves, a date moves the wake', async () => {
  const until = { id: 'until', type: 'wait_until', field: 'ENDS', at: '09:00' };
  const dated = await world.publish({ triggers, nodes: [until], edges: line('start', 'until') });
  const endless = await world.publish(waiting);
  const ends = { fieldValues: { ENDS: inDays(20) } };
  const [early, same, gone, out] = [
    await world.person(ends),
    await world.person(ends),
    await world.person(ends),
    await world.person(),
  ];
  await world.enter(dated, [early, same, gone]);
  await world.enter(endless, [gone, out, same]);
  await world.run();
  await world.follow();
  for (const { uid } of [dated, endless]) await setAutomationStatus(ctx, uid, 'inactive');
  await updateSubscriber(ctx, { ...refOf(early), fieldValues: { ENDS: inDays(5) } });
  await deleteSubscriber(ctx, refOf(gone));
  await unsubscribeSubscriber(ctx, refOf(out));
  expect(await lookedAgain()).toBe(0);
  for (const { uid } of [dated, endless]) await setAutomationStatus(ctx, uid, 'active');
  expect(await lookedAgain()).toBe(2);
  await world.run(new Date().toISOString());
  expect(await world.counts(dated)).toEqual({ until: 'entered 3, waiting 2, left 1' });
  expect(await world.counts(endless)).toEqual({ call: 'entered 3, waiting 1, left 2' });
  expect((await world.steps(gone)).filter((step) => step.includes('left'))).toEqual([
    'until left deleted',
    'call left deleted',
  ]);
  expect((await world.steps(out)).at(-1)).toBe('call left unsubscribed');
  const wakes = await queryRows<{ id: bigint; day: string }>(
    ctx.db,
    sql`SELECT person_id AS id, wake_at::date::text AS day FROM hot.flow_run WHERE automation_id = ${dated.key.automationId} ORDER BY id`,
  );
  expect(wakes).toEqual([
    { id: early, day: inDays(5) },
    { id: same, day: inDays(20) },
  ]);
});

test('of many people, also when the process stops between two batches or the flow is stopped again', async () => {
  const endless = await world.publish(waiting);
  const ids = await subscriberPeople(ctx.db, list, 2_300);
  await world.enter(endless, ids);
  await setAutomationStatus(ctx, endless.uid, 'inactive');
  await ctx.db.execute(
    sql`DELETE FROM subscriber WHERE customer_id = ${list.customerId} AND id = ANY (${ids.slice(0, 2_200)}::bigint[])`,
  );
  const look = { customerId: list.customerId, automationId: endless.key.automationId, since: new Date() };
  // It is stopped still: later.
  await lookAgain(ctx, look, () => false);
  expect(await world.counts(endless)).toEqual({ call: 'entered 2300, waiting 2300' });
  await setAutomationStatus(ctx, endless.uid, 'active');
  let asked = 0;
  await lookAgain(ctx, look, () => ++asked > 1);
  expect(await world.counts(endless)).toEqual({ call: 'entered 2300, waiting 1300, left 1000' });
  // The one of the activation, the one that was put off, and the one that goes on.
  expect(await lookedAgain()).toBe(3);
  expect(await world.counts(endless)).toEqual({ call: 'entered 2300, waiting 100, left 2200' });
});
