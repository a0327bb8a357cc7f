/** Parked runs that are tried again while people are moved to another version, and after that: nobody stays behind, or passes over a wait (D84, D87). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { retryParked } from '../../../src/domain/automations/runs/parked-runs.ts';
import { movePeopleJob, unparkJob } from '../../../src/jobs/automation-jobs.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { insertAutomationWebhook } from '../../support/insert-webhook.ts';
import { lineFlow, tag, wait } from '../../support/line-flows.ts';
import { versionMoves } from '../../support/version-moves.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
const { move, publishAgain } = versionMoves(world);
const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
const place = { version: 1, node: 'mark' };
const longer = lineFlow(tag('mark'), wait('rest', 1));

/** The next job of this kind is done, as the queue does it. */
async function work(name: string): Promise<void> {
  const [job] = await queryRows<{ id: bigint; payload: unknown }>(
    ctx.db,
    sql`SELECT j.id, j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
         WHERE t.identifier = ${name} ORDER BY j.id LIMIT 1`,
  );
  if (!job) throw new Error('There is no job.');
  await automationTasks.find((task) => task.name === name)?.run(ctx, job.payload, helpers);
  await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs WHERE id = ${job.id}`);
}

async function parked(people: number) {
  const flow = await world.publish(lineFlow(tag('mark')));
  await world.enter(flow, await subscriberPeople(ctx.db, list, people));
  await ctx.db.execute(
    sql`UPDATE hot.flow_run SET state = 'parked', wake_at = NULL WHERE automation_id = ${flow.key.automationId}`,
  );
  await ctx.db.execute(
    sql`UPDATE hot.flow_node SET parked = waiting, waiting = 0 WHERE automation_id = ${flow.key.automationId}`,
  );
  return flow;
}

test('a move to another version waits until all are due who are tried again', async () => {
  const first = await parked(1_500);
  expect(await retryParked(ctx, first.uid, place)).toBe(1_500);
  const second = await publishAgain(first, longer, { moves: {} });
  await work(movePeopleJob.name);
  expect(await world.counts(first)).toEqual({ mark: 'entered 1500, waiting 1000, parked 500' });
  await work(unparkJob.name);
  await work(movePeopleJob.name);
  expect(await world.counts(first)).toEqual({ mark: 'entered 1500, left 1500' });
  await world.run(new Date().toISOString());
  expect(await world.counts(second)).toEqual({
    mark: 'entered 1500, passed 1500',
    rest: 'entered 1500, waiting 1500',
  });
});

test('while people are moved, so many that a job would follow are refused, and fewer are not', async () => {
  const [many, few] = [await parked(1_001), await parked(2)];
  const moved = await publishAgain(many, longer, { moves: {} });
  await publishAgain(few, longer, { moves: {} });
  await expect(retryParked(ctx, many.uid, place)).rejects.toMatchObject({
    code: 'PEOPLE_IN_MOVE',
    message: expect.stringContaining('to version 2'),
  });
  expect(await world.counts(many)).toEqual({ mark: 'entered 1001, parked 1001' });
  expect(await retryParked(ctx, few.uid, place)).toBe(2);
  await move(moved);
  expect(await retryParked(ctx, many.uid, { ...place, version: 2 })).toBe(1_001);
});

/** Somebody who came a day ago and is parked, is moved to this node, and is tried again there. */
async function triedAgainAt(node: { readonly id: string; readonly type: string }) {
  const first = await parked(1);
  await ctx.db.execute(
    sql`UPDATE hot.flow_run SET since = since - interval '1 day' WHERE automation_id = ${first.key.automationId}`,
  );
  const second = await publishAgain(first, lineFlow(node, tag('after')), { moves: { mark: node.id } });
  await move(second);
  expect(await retryParked(ctx, first.uid, { version: 2, node: node.id })).toBe(1);
  const begun = Date.now();
  await world.run(new Date(begun).toISOString());
  expect(await world.counts(second)).toEqual({ [node.id]: 'entered 1, waiting 1' });
  return { second, inDays: (days: number) => new Date(begun + days * 86_400_000).toISOString() };
}

test('who was moved to an API call while parked waits for it when tried again, and its webhook is fired once', async () => {
  await insertAutomationWebhook(ctx, list.customerId);
  const { second } = await triedAgainAt({ id: 'call', type: 'api_call' });
  const [run] = await queryRows(
    ctx.db,
    sql`SELECT state::text, wake_at FROM hot.flow_run WHERE automation_id = ${second.key.automationId}`,
  );
  expect(run).toEqual({ state: 'waiting', wake_at: null });
  const fired = await queryRows(
    ctx.db,
    sql`SELECT convert_from(payload, 'UTF8')::jsonb ->> 'node' AS node FROM hot.webhook_delivery WHERE customer_id = ${list.customerId}`,
  );
  expect(fired).toEqual([{ node: 'call' }]);
});

test('who was moved to a wait while parked waits there when tried again: the time since they came counts', async () => {
  const { second, inDays } = await triedAgainAt(wait('rest', 3));
  await world.run(inDays(1.5));
  expect(await world.counts(second)).toEqual({ rest: 'entered 1, waiting 1' });
  await world.run(inDays(2.5));
  expect(await world.counts(second)).toEqual({ rest: 'entered 1, passed 1', after: 'entered 1, passed 1' });
});
