/** What is under way in automations and has lost its job goes on by itself, or says that it has failed; what has its job is left alone. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { enrolmentsOf } from '../../../src/domain/automations/entries/cancel-entering.ts';
import { enterExisting } from '../../../src/domain/automations/entries/enter-existing.ts';
import { enrolJob, movePeopleJob, reviveLostJob } from '../../../src/jobs/automation-jobs.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { crontab } from '../../../src/workers/crontab.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { lineFlow, stop, wait } from '../../support/line-flows.ts';
import { versionMoves } from '../../support/version-moves.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
const { publishAgain, placeOf } = versionMoves(world);
await subscriberPeople(ctx.db, list, 2);
const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
const run = async (name: string, payload: object = {}) =>
  automationTasks.find((task) => task.name === name)?.run(ctx, payload, helpers);

/** Jobs of this kind whose payload has this value. */
function jobsOf(name: string, value: bigint) {
  return queryRows<{ id: bigint; payload: object }>(
    ctx.db,
    sql`SELECT j.id, j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
         WHERE t.identifier = ${name} AND ${String(value)} IN (j.payload->>'automationId', j.payload->>'enrolmentId') ORDER BY j.id`,
  );
}
const deleteJobs = (jobs: readonly { id: bigint }[]) =>
  ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs WHERE id = ANY (${jobs.map(({ id }) => id)}::bigint[])`);
const giveUp = (jobs: readonly { id: bigint }[]) =>
  ctx.db.execute(
    sql`UPDATE graphile_worker._private_jobs SET attempts = max_attempts WHERE id = ANY (${jobs.map(({ id }) => id)}::bigint[])`,
  );

async function enrolled() {
  const flow = await world.publish({ ...lineFlow(stop), triggers: [{ type: 'subscribed' }] });
  const enrolment = await enterExisting(ctx, flow.uid, { people: 2, perHour: 1_000_000 });
  return { flow, enrolment, jobs: await jobsOf(enrolJob.name, enrolment.id) };
}

test('an enrolment whose job is gone gets a new one; one whose job was given up has failed, and another one can begin', async () => {
  const [lost, failed, sound] = [await enrolled(), await enrolled(), await enrolled()];
  await deleteJobs(lost.jobs);
  await giveUp(failed.jobs);
  expect(crontab.map(({ task }) => task)).toContain(reviveLostJob.name);
  await run(reviveLostJob.name);
  const [again] = await jobsOf(enrolJob.name, lost.enrolment.id);
  await run(enrolJob.name, again?.payload);
  expect(await enrolmentsOf(ctx, lost.flow.uid)).toMatchObject([{ status: 'done', entered: 2 }]);
  expect(await enrolmentsOf(ctx, failed.flow.uid)).toMatchObject([{ status: 'failed', reason: 'failed', entered: 0 }]);
  expect(await enterExisting(ctx, failed.flow.uid, { people: 2, perHour: 1_000_000 })).toMatchObject({
    status: 'running',
  });
  expect(await enrolmentsOf(ctx, sound.flow.uid)).toMatchObject([{ status: 'running' }]);
  expect(await jobsOf(enrolJob.name, sound.enrolment.id)).toEqual(sound.jobs);
});

test('an enrolment whose job is at its last try, and moves whose job is, are left alone', async () => {
  const { flow, enrolment, jobs } = await enrolled();
  const moving = await inMove();
  const moveJobs = await jobsOf(movePeopleJob.name, moving.key.automationId);
  await giveUp([...jobs, ...moveJobs]);
  const ids = [...jobs, ...moveJobs].map(({ id }) => id);
  await ctx.db.execute(
    sql`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'worker' WHERE id = ANY (${ids}::bigint[])`,
  );
  await run(reviveLostJob.name);
  expect(await enrolmentsOf(ctx, flow.uid)).toMatchObject([{ status: 'running' }]);
  expect(await jobsOf(enrolJob.name, enrolment.id)).toEqual(jobs);
  expect(await jobsOf(movePeopleJob.name, moving.key.automationId)).toEqual(moveJobs);
});

/** A person who is to be moved to the second version, and a third one that is refused meanwhile. */
async function inMove() {
  const first = await world.publish(lineFlow(wait('rest', 5)));
  const person = await world.person();
  await world.enter(first, [person]);
  const second = await publishAgain(first, lineFlow(wait('rest', 5), wait('more', 1)), { moves: {} });
  return { ...second, first, person };
}

test.each([
  ['gone', deleteJobs],
  ['given up', giveUp],
])('moves whose job is %s get a new one, and the next ones can be asked for', async (_what, lose) => {
  const second = await inMove();
  const next = lineFlow(wait('rest', 5), wait('more', 2));
  const lost = await jobsOf(movePeopleJob.name, second.key.automationId);
  await lose(lost);
  await expect(publishAgain(second, next, { moves: {} })).rejects.toMatchObject({ code: 'PEOPLE_IN_MOVE' });
  await run(reviveLostJob.name);
  const jobs = await jobsOf(movePeopleJob.name, second.key.automationId);
  const again = jobs.filter(({ id }) => !lost.some((one) => one.id === id));
  expect(again).toHaveLength(1);
  await run(movePeopleJob.name, again[0]?.payload);
  expect(await placeOf(second.person)).toEqual([expect.stringContaining('2 rest waiting')]);
  const before = await jobsOf(movePeopleJob.name, second.key.automationId);
  await run(reviveLostJob.name);
  expect(await jobsOf(movePeopleJob.name, second.key.automationId), 'they are done').toEqual(before);
  expect((await publishAgain(second, next, { moves: {} })).key.version).toBe(3);
});

/** Everybody has been moved; the last round is to come. */
async function beforeLastRound() {
  const { first, ...second } = await inMove();
  const jobs = () => jobsOf(movePeopleJob.name, second.key.automationId);
  const [moving] = await jobs();
  if (!moving) throw new Error('Nobody is being moved.');
  await run(movePeopleJob.name, moving.payload);
  await deleteJobs([moving]);
  const last = await jobs();
  expect(last).toMatchObject([{ payload: { isLast: true } }]);
  return { first, second, jobs, last };
}

test.each([
  ['gone', deleteJobs],
  ['given up', giveUp],
])(
  'a last round whose job is %s is made up for, once: who came into the earlier version meanwhile is moved',
  async (_what, lose) => {
    const { first, jobs, last } = await beforeLastRound();
    const late = await world.person();
    await world.enter(first, [late]);
    await lose(last);
    await run(reviveLostJob.name);
    const again = (await jobs()).filter(({ id }) => !last.some((one) => one.id === id));
    expect(again).toMatchObject([{ payload: { isLast: true } }]);
    await run(movePeopleJob.name, again[0]?.payload);
    expect(await placeOf(late)).toEqual([expect.stringContaining('2 rest waiting')]);
    await deleteJobs(await jobs());
    await run(reviveLostJob.name);
    expect(await jobs()).toEqual([]);
  },
);

test('moves that are asked for once more before the last round of the first ones are made up for after it, too', async () => {
  const { second, jobs, last } = await beforeLastRound();
  const same = lineFlow(wait('rest', 5), wait('more', 1));
  expect((await publishAgain(second, same, { moves: {} })).key.version).toBe(2);
  await run(movePeopleJob.name, last[0]?.payload);
  await deleteJobs(await jobs());
  await run(reviveLostJob.name);
  expect(await jobs()).toMatchObject([{ payload: { isLast: false } }]);
});
