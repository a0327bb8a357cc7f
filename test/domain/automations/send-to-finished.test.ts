/** Who has finished is never let in by a change of the flow: "send to those who finished" is an action with a count (D84). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { executeApiCall } from '../../../src/domain/automations/api-calls/execute-api-call.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import {
  finishedPeople,
  sendToFinished,
  sendToFinishedPeople,
} from '../../../src/domain/automations/versions/send-to-finished.ts';
import { takeOut } from '../../../src/domain/automations/runs/parked-runs.ts';
import { unsubscribePerson } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { sendToFinishedJob } from '../../../src/jobs/automation-jobs.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { interrupted } from '../../support/interrupted.ts';
import { lineFlow as flowOf, stop, tag, wait } from '../../support/line-flows.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { pauseMeanwhile } from '../../support/pause-meanwhile.ts';
import { versionMoves } from '../../support/version-moves.ts';

// Entries that ended are compared with the clock of the database.
const world = await startFlowWorld(new Date(Date.now() - 3_600_000).toISOString());
const { ctx } = world;
const { publishAgain, placeOf } = versionMoves(world);

const rest = wait('rest', 30);
const tagsOf = async (personId: bigint) => (await world.personRow(personId))?.tags;
const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };

async function jobsOf({ key }: { readonly key: { readonly automationId: bigint } }) {
  const rows = await queryRows<{ payload: object }>(
    ctx.db,
    sql`SELECT j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
         WHERE t.identifier = ${sendToFinishedJob.name} AND j.payload->>'automationId' = ${String(key.automationId)} ORDER BY j.id`,
  );
  return rows.map(({ payload }) => payload);
}
const work = async (payload: object | undefined) =>
  automationTasks.find(({ name }) => name === sendToFinishedJob.name)?.run(ctx, payload ?? {}, helpers);

test('nobody enters by a change; those who finished are counted, and sent to a node once', async () => {
  const first = await world.publish(flowOf(tag('one'), stop));
  const [ann, ben, left] = [await world.person(), await world.person(), await world.person()];
  const takenOut = await world.person();
  await world.enter(first, [ann, ben, left]);
  await world.run();
  expect(await finishedPeople(ctx, first.uid), 'of the live version').toBe(0);
  const second = await publishAgain(first, flowOf(tag('one'), tag('two'), rest, stop));
  await world.enter(second, [takenOut]);
  await world.run();
  await takeOut(ctx, second.uid, { subscriber: subscriberUid(takenOut) });
  await unsubscribePerson(ctx, { customerId: world.list.customerId, listId: world.list.id, id: left }, 'link');
  await world.run();
  expect(await tagsOf(ann), 'not by publishing').toEqual(['one']);
  expect(await finishedPeople(ctx, first.uid)).toBe(2);
  await expect(sendToFinished(ctx, first.uid, { node: 'two', people: 1 })).rejects.toMatchObject({
    code: 'MORE_HAVE_FINISHED',
    message: expect.stringContaining('version: 2.'),
  });
  await expect(sendToFinished(ctx, first.uid, { node: 'three', people: 2 })).rejects.toMatchObject({
    fields: { node: [expect.stringContaining('“three”')] },
  });
  await expect(sendToFinished(ctx, first.uid, { node: '', people: -1 })).rejects.toMatchObject({
    fields: { node: [expect.any(String)], people: [expect.any(String)] },
  });
  expect(await jobsOf(first)).toEqual([]);
  expect(await sendToFinished(ctx, first.uid, { node: 'two', people: 2 })).toBe(2);
  const [job] = await jobsOf(first);
  await work(job);
  expect(await world.steps(ann)).toContain('two entered finished');
  await world.run(new Date().toISOString());
  expect(await tagsOf(ann)).toEqual(['one', 'two']);
  expect(await tagsOf(ben)).toEqual(['one', 'two']);
  expect(await world.counts(second)).toMatchObject({
    two: 'entered 3, passed 3',
    rest: 'entered 3, waiting 2, left 1',
  });
  // The job again, as after a death of the process.
  await work(job);
  expect(await world.counts(second)).toMatchObject({ two: 'entered 3, passed 3' });
  expect(await finishedPeople(ctx, first.uid)).toBe(0);
  expect(await sendToFinished(ctx, first.uid, { node: 'two', people: 0 })).toBe(0);
});

test('what was done for them is passed over', async () => {
  const first = await world.publish(flowOf(tag('one'), tag('two'), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ${person}`);
  await publishAgain(first, flowOf(tag('one'), tag('two'), tag('three'), stop));
  await sendToFinished(ctx, first.uid, { node: 'one', people: 1 });
  await work((await jobsOf(first))[0]);
  await world.run(new Date().toISOString());
  expect(await tagsOf(person)).toEqual(['three']);
  expect((await world.steps(person)).filter((step) => step.includes('done_before'))).toEqual([
    ...['one passed next done_before', 'two passed next done_before'],
  ]);
});

test('what was done in any run before is passed over, also by whom the last one did not lead there', async () => {
  const first = await world.publish(flowOf(tag('one'), stop));
  const person = await world.person();
  const sendTo = async (node: string) => {
    await sendToFinished(ctx, first.uid, { node, people: 1 });
    await work((await jobsOf(first)).at(-1));
    await world.run(new Date().toISOString());
  };
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(first, flowOf(tag('one'), tag('two'), stop));
  await sendTo('two');
  expect(await tagsOf(person)).toEqual(['one', 'two']);
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ${person}`);
  await publishAgain(second, flowOf(tag('one'), tag('two'), tag('three'), stop));
  await sendTo('one');
  expect(await tagsOf(person)).toEqual(['three']);
});

test('nobody who changes the automation waits for the count', async () => {
  const flow = await world.publish(flowOf(stop));
  const counter = interrupted(ctx, { statement: 'automations.count_finished', no: 1 }, () =>
    ctx.db.execute(sql`SELECT 1 FROM automation WHERE uid = ${flow.uid} FOR UPDATE NOWAIT`),
  );
  expect(await sendToFinished(counter, flow.uid, { node: 'stop', people: 0 })).toBe(0);
});

test('counts of one customer wait for each other, and when many do, one more is refused', async () => {
  const flow = await world.publish(flowOf(stop));
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow = interrupted(ctx, { statement: 'automations.count_finished', no: 1 }, () => {
    begun.resolve();
    return goOn.promise;
  });
  const first = finishedPeople(slow, flow.uid);
  await begun.promise;
  const others = Array.from({ length: 11 }, () => finishedPeople(ctx, flow.uid));
  const settled = await Promise.race(others.map((one) => one.catch((error: unknown) => error)));
  expect(settled).toMatchObject({ code: 'TOO_MANY_COUNTS' });
  goOn.resolve();
  expect(await first).toBe(0);
  expect((await Promise.allSettled(others)).filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
});

test('whoever ends at a node that gives a reason has finished, too', async () => {
  const first = await world.publish(flowOf({ id: 'call', type: 'api_call' }));
  const person = await world.person();
  await world.enter(first, [person]);
  expect((await executeApiCall(ctx, first.uid, { subscriber: subscriberUid(person) })).people).toBe(1);
  expect(await placeOf(person)).toEqual([]);
  await publishAgain(first, flowOf(rest));
  expect(await finishedPeople(ctx, first.uid)).toBe(1);
});

test('a flow that is stopped lets nobody in, and the job waits for it', async () => {
  const first = await world.publish(flowOf(tag('one'), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  await publishAgain(first, flowOf(tag('one'), rest));
  await sendToFinished(ctx, first.uid, { node: 'rest', people: 5 });
  await setAutomationStatus(ctx, first.uid, 'inactive');
  await expect(sendToFinished(ctx, first.uid, { node: 'rest', people: 5 })).rejects.toMatchObject({
    code: 'AUTOMATION_NOT_ACTIVE',
  });
  const [job] = await jobsOf(first);
  await work(job);
  expect(await placeOf(person)).toEqual([]);
  expect(await jobsOf(first), 'it is tried again later').toHaveLength(2);
  await setAutomationStatus(ctx, first.uid, 'active');
  await work(job);
  expect(await placeOf(person)).toEqual([expect.stringContaining('2 rest waiting')]);
});

test('a pause waits for those who are being let in: nobody enters a paused automation', async () => {
  const first = await world.publish(flowOf(stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(first, flowOf(rest));
  const sending = { ...second.key, node: 'rest', until: new Date(), afterId: 0n };
  const moment = { uid: first.uid, statement: 'automations.insert_runs' };
  await pauseMeanwhile(ctx, moment, (worker) => sendToFinishedPeople(worker, sending, () => false));
  expect(await placeOf(person)).toEqual([expect.stringContaining('2 rest waiting')]);
});

test('who has not entered when another version is published enters that one, or none when the node is gone', async () => {
  const first = await world.publish(flowOf(tag('one'), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(first, flowOf(tag('one'), rest));
  await sendToFinished(ctx, first.uid, { node: 'rest', people: 1 });
  const [job] = await jobsOf(first);
  const third = await publishAgain(second, flowOf(tag('one'), tag('two'), stop));
  await work(job);
  expect(await placeOf(person)).toEqual([]);
  await publishAgain(third, flowOf(tag('one'), rest, tag('two')));
  await work(job);
  expect(await placeOf(person)).toEqual([expect.stringContaining('4 rest waiting')]);
});

test('a person who finished with several keys enters once, and who is inside with another one does not', async () => {
  const entry = { mode: 'per_key', key: 'cart' };
  const first = await world.publish({ ...flowOf(tag('one'), stop), entry });
  const [several, inside] = [await world.person(), await world.person()];
  for (const key of ['a', 'b']) await world.enter(first, [several], { entryKey: key });
  await world.enter(first, [inside], { entryKey: 'a' });
  await world.run();
  const second = await publishAgain(first, { ...flowOf(rest, stop), entry });
  await world.enter(second, [inside], { entryKey: 'b' });
  expect(await finishedPeople(ctx, first.uid)).toBe(1);
  await sendToFinished(ctx, first.uid, { node: 'rest', people: 1 });
  await work((await jobsOf(first))[0]);
  expect(await placeOf(several)).toHaveLength(1);
  expect(await placeOf(inside)).toHaveLength(1);
  for (const id of [several, inside]) await takeOut(ctx, first.uid, { subscriber: subscriberUid(id) });
  expect(await finishedPeople(ctx, first.uid), 'they have been in this version').toBe(0);
});

test('a process that dies between any two statements lets each in once', async () => {
  let diesAt = 1;
  for (let isDead = true; isDead; diesAt++) {
    const first = await world.publish(flowOf(tag('one'), stop));
    const people = [await world.person(), await world.person()];
    await world.enter(first, people);
    await world.run();
    const second = await publishAgain(first, flowOf(tag('one'), rest));
    const process = mortalProcess(ctx, diesAt);
    const sending = { ...second.key, node: 'rest', until: new Date(), afterId: 0n };
    await sendToFinishedPeople(process.ctx, sending, () => process.isDead()).catch((error: unknown) => {
      if (!process.isDead()) throw error;
    });
    isDead = process.isDead();
    await sendToFinishedPeople(ctx, sending, () => false);
    expect(await world.counts(second)).toEqual({ rest: 'entered 2, waiting 2' });
    for (const person of people) expect(await placeOf(person)).toHaveLength(1);
  }
  expect(diesAt).toBeGreaterThan(8);
}, 300_000);
