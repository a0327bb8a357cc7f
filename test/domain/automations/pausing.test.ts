/** Flows that were stopped, runs that are parked, people who are taken out, and automations that are deleted (D85, D87). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { askedOutcome } from '../../../src/domain/automations/engine/asked-outcome.ts';
import { deleteAutomation, eraseGone } from '../../../src/domain/automations/delete-automation.ts';
import { node } from '../../../src/domain/automations/flow/flow-nodes.ts';
import { liveFlow } from '../../../src/domain/automations/runs/live-flow.ts';
import { requestOf } from '../../../src/domain/automations/runs/late-runs.ts';
import { nodeState, storeNextRelease } from '../../../src/domain/automations/runs/node-store.ts';
import { retryParked, skipParked, takeOut, unparkOthers } from '../../../src/domain/automations/runs/parked-runs.ts';
import {
  overdueRuns,
  setAutomationStatus,
  type OverdueChoice,
} from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { inTransaction } from '../../../src/domain/context.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { eraseGoneJob, unparkJob } from '../../../src/jobs/automation-jobs.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { createTenant } from '../../support/tenant.ts';

const HOUR_MS = 3_600_000;
/** Steps are late by the clock of the database. */
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
const world = await startFlowWorld(inHours(-5));
const { ctx, list } = world;

const triggers = [{ type: 'execute' }];
const flow = {
  triggers,
  nodes: [
    { id: 'rest', type: 'wait', for: { hours: 1 } },
    { id: 'mark', type: 'add_tag', tag: 'marked' },
    { id: 'later', type: 'wait', for: { hours: 1 } },
  ],
  edges: [
    { from: 'start', to: 'rest' },
    { from: 'rest', to: 'mark' },
    { from: 'mark', to: 'later' },
  ],
};

/** A flow that was stopped while three people waited; their waits ended four hours ago. */
async function stoppedFlow() {
  await world.run(inHours(-5));
  const published = await world.publish(flow);
  const ids = await subscriberPeople(ctx.db, list, 3);
  await world.enter(published, ids);
  await setAutomationStatus(ctx, published.uid, 'inactive');
  return { ...published, ids };
}

const goOn = (uid: string, choice?: OverdueChoice) => setAutomationStatus(ctx, uid, 'active', choice);

async function reasons(ids: readonly bigint[]) {
  const rows = await queryRows<{ node: string; reason: string | null }>(
    ctx.db,
    sql`SELECT node, reason FROM hot.flow_run WHERE person_id = ANY (${[...ids]}::bigint[]) ORDER BY id`,
  );
  return rows.map((run) => `${run.node} ${run.reason ?? '-'}`);
}

test('what is late is counted and asked about before a stopped flow goes on', async () => {
  const stopped = await stoppedFlow();
  expect(await overdueRuns(ctx, stopped.uid)).toBe(3);
  await expect(goOn(stopped.uid)).rejects.toMatchObject({
    code: 'AUTOMATION_HAS_OVERDUE',
    message: expect.stringContaining('Steps of 3 people'),
  });
  const tooLong = { mode: 'spread', hours: 745 } as const;
  await expect(goOn(stopped.uid, tooLong)).rejects.toMatchObject({ fields: { 'overdue.hours': expect.anything() } });
  await goOn(stopped.uid, { mode: 'now' });
  await world.run(inHours(0));
  expect(await world.counts(stopped)).toMatchObject({ rest: 'entered 3, passed 3', later: 'entered 3, waiting 3' });
  expect(await overdueRuns(ctx, stopped.uid)).toBe(0);
  // Stopped for less than an hour: nothing is asked.
  await setAutomationStatus(ctx, stopped.uid, 'inactive');
  await goOn(stopped.uid);
});

test('it is spread over hours, in its order', async () => {
  const stopped = await stoppedFlow();
  await goOn(stopped.uid, { mode: 'spread', hours: 10 });
  for (const [hours, passed] of [
    [0.1, 1],
    [4.9, 1],
    [5.1, 2],
    [10.1, 3],
  ] as const) {
    await world.run(inHours(hours));
    expect((await world.counts(stopped))['mark']).toBe(`entered ${passed}, passed ${passed}`);
  }
  expect((await world.steps(stopped.ids[0] ?? 0n)).length).toBeGreaterThan(1);
});

test('waits begin anew, from now on', async () => {
  const stopped = await stoppedFlow();
  await goOn(stopped.uid, { mode: 'wait_anew' });
  await world.run(inHours(0));
  expect(await reasons(stopped.ids)).toEqual(['rest -', 'rest -', 'rest -']);
  const [run] = await queryRows<{ since: Date }>(
    ctx.db,
    sql`SELECT since FROM hot.flow_run WHERE person_id = ${stopped.ids[0] ?? 0n}`,
  );
  expect(run?.since).toEqual(world.now());
  expect(await world.steps(stopped.ids[0] ?? 0n)).toEqual(['rest entered execute', 'rest stays wait_anew']);
  await world.run(inHours(0.9));
  expect(await world.counts(stopped)).toEqual({ rest: 'entered 3, waiting 3' });
  await world.run(inHours(1.1));
  expect(await world.counts(stopped)).toMatchObject({ rest: 'entered 3, passed 3' });
});

test('what was asked for a late run stays asked when its step fails', async () => {
  const stopped = await stoppedFlow();
  const [bad = 0n] = stopped.ids;
  await ctx.db.execute(sql`
    CREATE FUNCTION refuse_to_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`);
  await ctx.db.execute(
    sql([
      `CREATE TRIGGER refuse_to_move BEFORE UPDATE ON hot.flow_run FOR EACH ROW WHEN (OLD.person_id = ${bad} AND NEW.node <> OLD.node) EXECUTE FUNCTION refuse_to_move()`,
    ]),
  );
  await goOn(stopped.uid, { mode: 'skip_mails', olderThanHours: 2 });
  await world.run(inHours(0));
  expect(await reasons([bad])).toEqual(['rest overdue']);
  await ctx.db.execute(sql`DROP TRIGGER refuse_to_move ON hot.flow_run`);
});

test('a worker that was spreading late runs does not hold back those that the next choice lets go at once', async () => {
  const stopped = await stoppedFlow();
  const key = { ...stopped.key, node: 'rest' };
  await goOn(stopped.uid, { mode: 'spread', hours: 10 });
  const late = (await nodeState(ctx.db, key))?.late;
  if (!late) throw new Error('Nothing is late.');
  await setAutomationStatus(ctx, stopped.uid, 'inactive');
  await goOn(stopped.uid, { mode: 'now' });
  await inTransaction(ctx, ({ tx }) => storeNextRelease(tx, key, { ...late, done: 1 }));
  await world.run(inHours(0.1));
  expect(await world.counts(stopped)).toMatchObject({ rest: 'entered 3, passed 3' });
});

test('mails that are older than some hours are passed over until the person waits again', async () => {
  const stopped = await stoppedFlow();
  const [recent = 0n, ...old] = stopped.ids;
  await ctx.db.execute(
    sql`UPDATE hot.flow_run SET wake_at = now() - interval '90 minutes' WHERE person_id = ${recent} AND automation_id = ${stopped.key.automationId}`,
  );
  await goOn(stopped.uid, { mode: 'skip_mails', olderThanHours: 2 });
  const live = await liveFlow(ctx, stopped.key);
  if (!live) throw new Error('The version is not there.');
  const key = { ...stopped.key, node: 'rest' };
  const state = await nodeState(ctx.db, key);
  expect(state?.late).toMatchObject({ mode: 'skip_mails', total: 2, done: 0 });
  expect(state?.late && requestOf(state.late)).toBe('overdue');
  await world.run(inHours(0.1));
  expect(await reasons([recent, ...old])).toEqual(['later -', 'later -', 'later -']);
  expect((await nodeState(ctx.db, key))?.late, 'it is over').toBe(null);
  const mail = node.parse({ id: 'mail', type: 'send_mail', templateUid: stopped.uid });
  const person = { status: 'subscribed', isSuppressed: false, fields: {} };
  const arrival = { live, zones: { tag: null, fallback: 'UTC' }, person, now: new Date() };
  const times = { enteredAt: new Date(), eventsFrom: new Date(), since: new Date(), wakeAt: new Date() };
  const run = {
    ...{ ...times, id: 1n, personId: 1n, eventsAfter: 0n, depth: 0, failures: 0 },
    ...{ hasLeft: false, entryKey: '', passes: null, steps: 1, payload: null, person },
  };
  expect(askedOutcome(mail, { ...run, reason: 'overdue' }, arrival)).toEqual({ go: 'next', reason: 'overdue' });
  expect(askedOutcome(mail, { ...run, reason: null }, arrival)).toBeUndefined();
});

test('a worker that dies has moved late people on and counted them, or neither; a new choice replaces the one before', async () => {
  const stopped = await stoppedFlow();
  const key = { ...stopped.key, node: 'rest' };
  const late = async () => (await nodeState(ctx.db, key))?.late;
  await goOn(stopped.uid, { mode: 'spread', hours: 10 });
  let diesAt = 1;
  for (let isDead = true; isDead; diesAt++) {
    const mortal = mortalProcess(ctx, diesAt);
    const work = { now: () => new Date(inHours(5.1)), isStopping: () => mortal.isDead() };
    await advanceDue(mortal.ctx, work).catch((error: unknown) => {
      if (!mortal.isDead()) throw error;
    });
    isDead = mortal.isDead();
    const passed = Number(/passed (\d)/.exec((await world.counts(stopped))['rest'] ?? '')?.[1] ?? 0);
    expect((await late())?.done).toBe(passed);
  }
  expect(await late()).toMatchObject({ mode: 'spread', hours: 10, total: 3, done: 2 });
  // One is still late: it is asked about again, and goes by the new choice.
  await setAutomationStatus(ctx, stopped.uid, 'inactive');
  expect(await overdueRuns(ctx, stopped.uid)).toBe(1);
  await goOn(stopped.uid, { mode: 'wait_anew' });
  expect(await late()).toMatchObject({ mode: 'wait_anew', total: 1, done: 0 });
  await setAutomationStatus(ctx, stopped.uid, 'inactive');
  await goOn(stopped.uid, { mode: 'now' });
  expect(await late()).toBe(null);
  await world.run(inHours(0.1));
  expect(await world.counts(stopped)).toMatchObject({ rest: 'entered 3, passed 3' });
});

test('people who come while late ones are spread do not wait for them', async () => {
  const stopped = await stoppedFlow();
  await goOn(stopped.uid, { mode: 'spread', hours: 10 });
  const [person = 0n] = await subscriberPeople(ctx.db, list, 1);
  await world.run(inHours(0.1));
  await world.enter(stopped, [person]);
  await world.run(inHours(1.2));
  expect(await world.steps(person)).toContain('rest passed next');
  expect((await nodeState(ctx.db, { ...stopped.key, node: 'rest' }))?.late).toMatchObject({ total: 3, done: 1 });
});

/** A person who cannot get another tag is parked at `mark`. */
async function parkedPerson() {
  await world.run(inHours(0));
  const published = await world.publish({
    triggers,
    nodes: [
      { id: 'mark', type: 'add_tag', tag: 'one more' },
      { id: 'stop', type: 'end' },
    ],
    edges: [
      { from: 'start', to: 'mark' },
      { from: 'mark', to: 'stop' },
    ],
  });
  const [person = 0n, other = 0n] = await subscriberPeople(ctx.db, list, 2);
  await ctx.db.execute(
    sql`UPDATE subscriber SET tags = ARRAY(SELECT 't' || n FROM generate_series(1, 1000) n) WHERE id = ${person}`,
  );
  await world.enter(published, [person, other]);
  await world.run();
  expect(await world.counts(published)).toMatchObject({ mark: 'entered 2, passed 1, parked 1' });
  return { ...published, person, place: { version: 1, node: 'mark' } };
}

test('parked runs are tried again, all of a node', async () => {
  const { person, place, ...published } = await parkedPerson();
  expect(await retryParked(ctx, published.uid, place)).toBe(1);
  expect(await world.counts(published)).toMatchObject({ mark: 'entered 2, waiting 1, passed 1' });
  await world.run(inHours(0));
  expect(await world.counts(published)).toMatchObject({ mark: 'entered 2, passed 1, parked 1' });
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ${person}`);
  expect(await retryParked(ctx, published.uid, place)).toBe(1);
  await world.run(inHours(0));
  expect((await world.personRow(person))?.tags).toEqual(['one more']);
  expect(await world.counts(published)).toMatchObject({ mark: 'entered 2, passed 2', stop: 'entered 2, passed 2' });
  expect(await retryParked(ctx, published.uid, place)).toBe(0);
});

test('of many parked runs the first are due at once, and a job makes the others due, batch by batch', async () => {
  const { place, person: _person, ...published } = await parkedPerson();
  const ids = await subscriberPeople(ctx.db, list, 2_500);
  await world.enter(published, ids);
  await ctx.db.execute(
    sql`UPDATE hot.flow_run SET state = 'parked', wake_at = NULL WHERE automation_id = ${published.key.automationId}`,
  );
  await ctx.db.execute(
    sql`UPDATE hot.flow_node SET parked = parked + waiting, waiting = 0, paused_at = now() WHERE automation_id = ${published.key.automationId} AND node = 'mark'`,
  );
  expect(await retryParked(ctx, published.uid, place)).toBe(2_501);
  expect((await world.counts(published))['mark']).toBe('entered 2502, waiting 1000, passed 1, parked 1501');
  const [job] = await queryRows<{ payload: { afterId: string } }>(
    ctx.db,
    sql`SELECT j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id WHERE t.identifier = ${unparkJob.name}`,
  );
  const rest = { ...published.key, node: place.node, request: null, afterId: BigInt(job?.payload.afterId ?? 0) };
  let asked = 0;
  await unparkOthers(ctx, rest, () => ++asked > 1);
  expect((await world.counts(published))['mark']).toBe('entered 2502, waiting 2000, passed 1, parked 501');
  // The first have failed once more, and too many of them.
  const pause = (at: 'now()' | 'NULL') =>
    ctx.db.execute(
      sql`UPDATE hot.flow_node SET paused_at = ${sql([at])} WHERE automation_id = ${published.key.automationId} AND node = 'mark' AND (paused_at IS NULL) = ${at === 'now()'}`,
    );
  await pause('now()');
  await unparkOthers(ctx, rest, () => false);
  expect(await pause('NULL'), 'the job leaves it paused').toBe(1);
  await world.run(inHours(0));
  expect((await world.counts(published))['mark']).toBe('entered 2502, passed 2501, parked 1');
});

test('or pass over the node, and another customer cannot do that', async () => {
  const { person, place, ...published } = await parkedPerson();
  const stranger = await createTenant(ctx);
  for (const act of [
    () => skipParked(stranger, published.uid, place),
    () => retryParked(stranger, published.uid, place),
    () => takeOut(stranger, published.uid, { subscriber: subscriberUid(person) }),
    () => overdueRuns(stranger, published.uid),
  ])
    await expect(act()).rejects.toMatchObject({ code: 'AUTOMATION_NOT_FOUND' });
  expect(await skipParked(ctx, published.uid, place)).toBe(1);
  await world.run(inHours(0));
  expect(await world.steps(person)).toEqual([
    ...['mark entered execute', 'mark parked too_many_tags', 'mark passed next skipped', 'stop passed end'],
  ]);
  expect((await world.personRow(person))?.tags).toHaveLength(1_000);
});

test('a person is taken out wherever it is, parked too, and counts balance', async () => {
  const parked = await parkedPerson();
  const subscriber = subscriberUid(parked.person);
  expect(await takeOut(ctx, parked.uid, { subscriber })).toBe(1);
  expect(await world.counts(parked)).toMatchObject({ mark: 'entered 2, passed 1, left 1' });
  expect((await world.steps(parked.person)).at(-1)).toBe('mark left taken_out');
  expect(await takeOut(ctx, parked.uid, { subscriber })).toBe(0);
  const waiting = await world.publish(flow);
  const [person = 0n] = await subscriberPeople(ctx.db, list, 1);
  await world.enter(waiting, [person]);
  expect(await takeOut(ctx, waiting.uid, { subscriber: subscriberUid(person) })).toBe(1);
  expect(await world.counts(waiting)).toEqual({ rest: 'entered 1, left 1' });
  expect(await world.enter(waiting, [person])).toEqual([{ refused: 'entered_before' }]);
});

test('a deleted automation moves nobody from then on; a job erases its rows, and continues when it was stopped', async () => {
  const published = await world.publish(flow);
  const stays = await world.publish(flow);
  const ids = await subscriberPeople(ctx.db, list, 6_000);
  await world.enter(published, ids, { payload: { a: 1 } });
  await world.enter(stays, ids.slice(0, 2), { payload: { a: 1 } });
  await deleteAutomation(ctx, published.uid);
  const left = async () => {
    const rows = await queryRows<{ rows: number }>(
      ctx.db,
      sql`SELECT ((SELECT count(*) FROM hot.flow_run WHERE automation_id = ${published.key.automationId}) + (SELECT count(*) FROM hot.flow_entry WHERE automation_id = ${published.key.automationId})
                + (SELECT count(*) FROM hot.flow_step WHERE automation_id = ${published.key.automationId}) + (SELECT count(*) FROM hot.flow_payload WHERE automation_id = ${published.key.automationId})
                + (SELECT count(*) FROM hot.flow_node WHERE automation_id = ${published.key.automationId}))::int AS rows`,
    );
    return rows[0]?.rows;
  };
  expect(await left()).toBe(24_001);
  await world.run(inHours(2));
  expect(await left()).toBe(24_001);
  let asked = 0;
  await eraseGone(ctx, () => ++asked > 1);
  expect(await left()).toBe(19_001);
  expect(
    await queryRows(ctx.db, sql`SELECT 1 FROM graphile_worker._private_jobs WHERE key = 'automations.erase-gone'`),
  ).toHaveLength(1);
  const task = automationTasks.find(({ name }) => name === eraseGoneJob.name);
  const helpers = { workerId: 'w', jobId: '1', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
  await task?.run(ctx, {}, helpers);
  expect(await left()).toBe(0);
  expect(await world.counts(stays)).toMatchObject({ rest: 'entered 2, passed 2' });
});
