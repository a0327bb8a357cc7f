/** The loop of a worker that moves people through flows: by notification, by turns, and not while it is paused. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../../src/db/database.ts';
import { openNotifications } from '../../../src/db/listen.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { advanceNode } from '../../../src/domain/automations/engine/advance-node.ts';
import { delayPosition } from '../../../src/domain/automations/events/flow-follower-store.ts';
import { startFlowWaker } from '../../../src/domain/automations/engine/flow-waker.ts';
import { secondsOverdue } from '../../../src/domain/automations/runs/node-store.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { watchOutage } from '../../../src/domain/automations/engine/watch-outage.ts';
import { stoppedMailJob } from '../../../src/jobs/automation-jobs.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { RoundRobin } from '../../../src/domain/automations/engine/round-robin.ts';
import { FLOWS_CHANNEL } from '../../../src/domain/automations/runs/wake-flows.ts';
import { suppress } from '../../../src/domain/audience/suppression-store.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { afterFile } from '../../support/after-file.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
/** The real clock shows a later time. */
const world = await startFlowWorld(new Date(Date.now() - 5 * HOUR_MS).toISOString());
const inHours = (hours: number) => new Date(world.now().getTime() + hours * HOUR_MS).toISOString();
const triggers = [{ type: 'execute' }];
const marking = (tag: string) => ({
  triggers,
  nodes: [{ id: 'mark', type: 'add_tag', tag }],
  edges: [{ from: 'start', to: 'mark' }],
});

/** Another process: connections of its own. */
function anotherProcess(pausedFor?: string) {
  const database = openDatabase({ url: world.ctx.database.url, poolSize: 3, log: silentLog });
  const waker = startFlowWaker({ ...world.ctx, db: database, database }, pausedFor);
  afterFile(async () => {
    await waker.stop(5_000);
    await database.close();
  });
  return waker;
}

async function untilPassed(flow: Awaited<ReturnType<typeof world.publish>>, people: number): Promise<void> {
  for (let tries = 0; tries < 2_400; tries++, await sleep(50))
    if ((await world.counts(flow))['mark'] === `entered ${people}, passed ${people}`) return;
  expect(await world.counts(flow)).toEqual({ mark: `entered ${people}, passed ${people}` });
}

test('two processes at once move 3,000 people of two flows, each once', async () => {
  const [one, two] = [await world.publish(marking('one')), await world.publish(marking('two'))];
  const ids = await subscriberPeople(world.ctx.db, world.list, 3_000);
  for (const flow of [one, two]) await world.enter(flow, ids);
  const wakers = [anotherProcess(), anotherProcess()];
  await Promise.all([untilPassed(one, ids.length), untilPassed(two, ids.length)]);
  await Promise.all(wakers.map((waker) => waker.stop(5_000)));
  const steps = await queryRows<{ steps: number; runs: number }>(
    world.ctx.db,
    sql`SELECT count(*)::int AS steps, count(DISTINCT run_id)::int AS runs FROM hot.flow_step WHERE person_id = ANY (${ids}::bigint[]) AND what = 'passed'`,
  );
  expect(steps).toEqual([{ steps: 6_000, runs: 6_000 }]);
});

test('a flow that is stopped while a node has work left moves nobody after the batch; later it goes on', async () => {
  const flow = await world.publish(marking('stopped'));
  await world.enter(flow, await subscriberPeople(world.ctx.db, world.list, 1_500));
  const { next } = await advanceNode(world.ctx, { key: { ...flow.key, node: 'mark' } }, world.now());
  await setAutomationStatus(world.ctx, flow.uid, 'inactive');
  if (!next) throw new Error('Nothing is left.');
  expect(await advanceNode(world.ctx, next, world.now())).toEqual({ moved: 0, next: undefined });
  expect(await world.counts(flow)).toEqual({ mark: 'entered 1500, waiting 500, passed 1000' });
  await setAutomationStatus(world.ctx, flow.uid, 'active', { mode: 'now' });
  await world.run();
  expect(await world.counts(flow)).toEqual({ mark: 'entered 1500, passed 1500' });
});

test('paused it moves nobody; then it goes on, and stops for good at the end', async () => {
  const flow = await world.publish(marking('later'));
  const waker = anotherProcess('held');
  await world.enter(flow, await subscriberPeople(world.ctx.db, world.list, 2));
  waker.wake();
  await waker.stop(0);
  expect(await world.counts(flow)).toEqual({ mark: 'entered 2, waiting 2' });
  expect(await secondsOverdue(world.ctx.db)).toBeGreaterThan(60);
  const next = anotherProcess('held');
  next.resume('held');
  await untilPassed(flow, 2);
  expect(await secondsOverdue(world.ctx.db)).toBe(0);
  await next.stop(5_000);
  await world.enter(flow, await subscriberPeople(world.ctx.db, world.list, 1));
  next.wake();
  await next.stop(5_000);
  expect(await world.counts(flow)).toEqual({ mark: 'entered 3, waiting 1, passed 2' });
  await world.run();
});

test('after an outage of more than an hour, flows that it has made late are stopped, and their owners are told', async () => {
  const [late, fresh] = [await world.publish(marking('late')), await world.publish(marking('fresh'))];
  const ids = await subscriberPeople(world.ctx.db, world.list, 2);
  await world.enter(late, ids);
  await world.enter(fresh, ids);
  await world.ctx.db.execute(
    sql`UPDATE hot.flow_run SET wake_at = now() WHERE automation_id = ${fresh.key.automationId}`,
  );
  await world.ctx.db.execute(sql`
    INSERT INTO hot.flow_watch (seen_at) VALUES (now() - interval '59 minutes') ON CONFLICT (one) DO UPDATE SET seen_at = excluded.seen_at`);
  expect(await watchOutage(world.ctx)).toBe(0);
  await world.ctx.db.execute(sql`UPDATE hot.flow_watch SET seen_at = now() - interval '150 minutes'`);
  const waker = anotherProcess();
  await untilPassed(fresh, 2);
  await waker.stop(5_000);
  expect(await world.counts(late)).toEqual({ mark: 'entered 2, waiting 2' });
  await expect(setAutomationStatus(world.ctx, late.uid, 'active')).rejects.toMatchObject({
    code: 'AUTOMATION_HAS_OVERDUE',
  });
  // Told once: the next look finds that somebody works.
  expect(await watchOutage(world.ctx)).toBe(0);
  const jobs = await queryRows<{ payload: unknown }>(
    world.ctx.db,
    sql`SELECT j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id WHERE t.identifier = ${stoppedMailJob.name}`,
  );
  expect(jobs).toHaveLength(1);
  await world.ctx.db.execute(
    sql`INSERT INTO customer (uid, name, is_operator) SELECT 'operator00000', 'Operator', true WHERE NOT EXISTS (SELECT 1 FROM customer WHERE is_operator)`,
  );
  const task = automationTasks.find(({ name }) => name === stoppedMailJob.name);
  const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
  await task?.run(world.ctx, jobs[0]?.payload, helpers);
  const mails = await queryRows<{ content: { subject: string; paragraphs: string[] } }>(
    world.ctx.db,
    sql`SELECT content FROM hot.message WHERE cause LIKE 'job 7 %'`,
  );
  expect(mails.map(({ content }) => content.subject)).toEqual(['The automation Flow was stopped after an outage']);
  expect(mails[0]?.content.paragraphs[0]).toContain('did not run for 2 hours');
});

test('who signs up in an outage enters when the flow that it stopped is activated; its triggers rest until then', async () => {
  const flow = await world.publish({
    triggers: [{ type: 'subscribed' }, { type: 'weekly', weekdays: [1], at: '09:00' }],
    nodes: [{ id: 'mark', type: 'add_tag', tag: 'again' }],
    edges: [{ from: 'start', to: 'mark' }],
  });
  await world.enter(flow, await subscriberPeople(world.ctx.db, world.list, 1));
  const signedUp = await world.person();
  await world.ctx.db.execute(
    sql`INSERT INTO hot.flow_watch (seen_at) VALUES (now() - interval '150 minutes') ON CONFLICT (one) DO UPDATE SET seen_at = excluded.seen_at`,
  );
  expect(await watchOutage(world.ctx)).toBeGreaterThan(0);
  const states = () =>
    queryRows<{ state: string; started: string }>(
      world.ctx.db,
      sql`SELECT state, started_at::text AS started FROM hot.flow_trigger WHERE automation_id = ${flow.key.automationId}`,
    );
  const [resting] = await states();
  expect(resting?.state).toBe('idle');
  await world.follow();
  expect(await world.steps(signedUp)).toEqual([]);
  // A process that began to read before the flow was stopped, and failed after it.
  await delayPosition(world.ctx.db, flow.key);
  await setAutomationStatus(world.ctx, flow.uid, 'active', { mode: 'now' });
  await world.follow();
  expect(await world.steps(signedUp)).toEqual(['mark entered subscribed']);
  expect(await states()).toEqual([{ ...resting, state: 'live' }]);
  await setAutomationStatus(world.ctx, flow.uid, 'inactive');
});

test('who enters wakes the workers with the commit', async () => {
  // Activating it wakes them too.
  const flow = await world.publish(marking('told'));
  const notifications = openNotifications(world.ctx.database, silentLog);
  afterFile(() => notifications.close());
  const told = new Promise<void>((resolve) => {
    notifications.listen(FLOWS_CHANNEL, (payload) => payload !== null && resolve());
  });
  while (!notifications.isListening(FLOWS_CHANNEL)) await sleep(10);
  await world.enter(flow, await subscriberPeople(world.ctx.db, world.list, 1));
  await told;
  await world.run();
});

test('a flow with many batches lets others have their turns, and its cursor misses nobody', async () => {
  const [large, small] = [await world.publish(marking('large')), await world.publish(marking('small'))];
  const many = await subscriberPeople(world.ctx.db, world.list, 2_500);
  await world.enter(large, many);
  await world.enter(small, await subscriberPeople(world.ctx.db, world.list, 1));
  let batches = 0;
  // It stops before its third batch: by then the small one had its turn.
  await advanceDue(world.ctx, { now: world.now, isStopping: () => ++batches > 2 });
  expect(await world.counts(small)).toEqual({ mark: 'entered 1, passed 1' });
  expect(await world.counts(large)).toEqual({ mark: 'entered 2500, waiting 1500, passed 1000' });
  // One comes before the cursor while it works: the node is due again when the rest is done.
  const first = await advanceNode(world.ctx, { key: { ...large.key, node: 'mark' } }, world.now());
  expect(first.moved).toBe(1_000);
  await world.ctx.db.execute(
    sql`UPDATE hot.flow_run SET wake_at = wake_at - interval '1 hour' WHERE automation_id = ${large.key.automationId} AND id = (SELECT max(id) FROM hot.flow_run WHERE automation_id = ${large.key.automationId})`,
  );
  for (let { next } = first; next;) ({ next } = await advanceNode(world.ctx, next, world.now()));
  expect(await world.counts(large)).toEqual({ mark: 'entered 2500, waiting 1, passed 2499' });
  await world.run();
  expect(await world.counts(large)).toEqual({ mark: 'entered 2500, passed 2500' });
});

test('customers, flows and nodes take turns', () => {
  const due = new RoundRobin();
  const key = (customer: bigint, automation: bigint, node: string) => ({
    key: { customerId: customer, automationId: automation, version: 1, node },
  });
  const all = [key(1n, 1n, 'a'), key(1n, 1n, 'b'), key(1n, 2n, 'c'), key(2n, 3n, 'd')];
  due.add(all.map((one) => one.key));
  due.add(all.map((one) => one.key));
  const order: string[] = [];
  for (let node = due.next(); node && order.length < 8; node = due.next()) {
    order.push(node.key.node);
    if (node.key.node === 'a' || node.key.node === 'd') due.again(node);
  }
  expect(order).toEqual(['a', 'd', 'c', 'd', 'b', 'd', 'a', 'd']);
});

test('who may get no mail any more leaves at the next step, and does not enter', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'rest', type: 'wait', for: { hours: 1 } },
      { id: 'mark', type: 'add_tag', tag: 'reached' },
    ],
    edges: [
      { from: 'start', to: 'rest' },
      { from: 'rest', to: 'mark' },
    ],
  });
  const [stays, bounced, never] = await subscriberPeople(world.ctx.db, world.list, 3);
  if (stays === undefined || bounced === undefined || never === undefined) throw new Error('Nobody is there.');
  await world.enter(flow, [stays, bounced]);
  for (const id of [bounced, never])
    await suppress(world.ctx.db, {
      customerId: world.list.customerId,
      emailKey: (await world.personRow(id))?.email ?? '',
      reason: 'bounce',
    });
  expect(await world.enter(flow, [never])).toEqual([{ refused: 'suppressed' }]);
  await world.run(inHours(1));
  expect(await world.steps(bounced)).toEqual(['rest entered execute', 'rest left suppressed']);
  expect(await world.steps(stays)).toEqual(['rest entered execute', 'rest passed next', 'mark passed next']);
});

test('only the run that ended the subscription goes on without it', async () => {
  const flow = await world.publish({
    triggers,
    entry: { mode: 'per_key', key: 'order' },
    nodes: [
      { id: 'ways', type: 'condition', if: { payload: { path: 'order', text: { is: 'a' } } } },
      { id: 'leave', type: 'unsubscribe' },
      { id: 'both', type: 'wait', for: { hours: 1 } },
      { id: 'after', type: 'add_tag', tag: 'after' },
    ],
    edges: [
      { from: 'start', to: 'ways' },
      { from: 'ways', port: 'yes', to: 'leave' },
      { from: 'ways', port: 'no', to: 'both' },
      { from: 'leave', to: 'both' },
      { from: 'both', to: 'after' },
    ],
  });
  const [person] = await subscriberPeople(world.ctx.db, world.list, 1);
  if (person === undefined) throw new Error('Nobody is there.');
  for (const order of ['b', 'a']) {
    await world.enter(flow, [person], { entryKey: order, payload: { order } });
    await world.run();
  }
  await world.run(inHours(1));
  const counts = await world.counts(flow);
  expect(counts['both']).toBe('entered 2, passed 1, left 1');
  expect(counts['after']).toBe('entered 1, passed 1');
});
