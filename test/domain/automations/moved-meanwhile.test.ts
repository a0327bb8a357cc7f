/** What happens to people, and calls of them, while they are moved to another version of their flow: nothing of it is lost (D77, D79, D84). */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { callEverybody } from '../../../src/domain/automations/api-calls/call-everybody.ts';
import { executeApiCall } from '../../../src/domain/automations/api-calls/execute-api-call.ts';
import { followPeople } from '../../../src/domain/automations/events/follow-people.ts';
import { sql } from '../../../src/db/database.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { interrupted } from '../../support/interrupted.ts';
import { pauseMeanwhile } from '../../support/pause-meanwhile.ts';
import { versionMoves } from '../../support/version-moves.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
const { move, publishAgain, placeOf } = versionMoves(world);

const triggers = [{ type: 'execute' }];
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const tag = (id: string) => ({ id, type: 'add_tag', tag: id });
const rest = { id: 'rest', type: 'wait', for: { days: 9 } };

test('an event that ends a wait, and one that is a goal, is judged by the version to which the person was moved', async () => {
  const nodes = [
    { id: 'ask', type: 'wait_for_event', event: { type: 'event', name: 'paid' }, for: { days: 5 } },
    tag('paid'),
  ];
  const flow = { triggers, nodes, edges: line('start', 'ask', 'paid') };
  const first = await world.publish(flow);
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(
    first,
    { ...flow, nodes: [...nodes, rest], edges: line('start', 'ask', 'paid', 'rest') },
    { moves: {} },
  );
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { personId: person, kind: 'event', name: 'paid', at: new Date() },
  ]);
  let moved = 0;
  const follower = interrupted(ctx, { statement: 'automations.lock_runs', no: 1 }, async () => {
    moved += 1;
    await move(second);
  });
  await followPeople(follower, { isStopping: () => false });
  expect(moved).toBe(1);
  await world.run(new Date().toISOString());
  expect((await world.personRow(person))?.tags).toEqual(['paid']);
  expect(await placeOf(person)).toEqual([expect.stringContaining('2 rest waiting')]);
});

test.each([1, 2])('a call for everybody finds who is moved before its transaction %i', async (no) => {
  const call = { id: 'call', type: 'api_call' };
  const first = await world.publish({ triggers, nodes: [call, tag('called')], edges: line('start', 'call', 'called') });
  const [old, fresh] = [await world.person(), await world.person()];
  await world.enter(first, [old]);
  const second = await publishAgain(
    first,
    { triggers, nodes: [call, tag('called'), rest], edges: line('start', 'call', 'called', 'rest') },
    { moves: {} },
  );
  await world.enter(second, [fresh]);
  const { customerId, automationId } = second.key;
  const asked = { customerId, automationId, node: 'call', payload: null, calledAt: new Date() };
  const caller = interrupted(ctx, { statement: 'automations.find_by_keys', no }, () => move(second));
  await callEverybody(caller, asked, () => false);
  await world.run(new Date().toISOString());
  for (const person of [old, fresh]) expect((await world.personRow(person))?.tags).toEqual(['called']);
});

test('a pause waits for those who are being called: nobody goes on in a paused automation', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'call', type: 'api_call' }, rest],
    edges: line('start', 'call', 'rest'),
  });
  const person = await world.person();
  await world.enter(flow, [person]);
  const { customerId, automationId } = flow.key;
  const asked = { customerId, automationId, node: 'call', payload: null, calledAt: new Date() };
  const moment = { uid: flow.uid, statement: 'automations.move' };
  await pauseMeanwhile(ctx, moment, (worker) => callEverybody(worker, asked, () => false));
  expect(await placeOf(person)).toEqual([expect.stringContaining('1 rest waiting')]);
});

test('a call for one person finds them when they are moved meanwhile', async () => {
  const call = { id: 'call', type: 'api_call' };
  const first = await world.publish({ triggers, nodes: [call, tag('called')], edges: line('start', 'call', 'called') });
  const person = await world.person();
  await world.enter(first, [person]);
  const second = await publishAgain(
    first,
    { triggers, nodes: [call, tag('called'), rest], edges: line('start', 'call', 'called', 'rest') },
    { moves: {} },
  );
  const caller = interrupted(ctx, { statement: 'automations.find_by_keys', no: 1 }, () => move(second));
  const called = await executeApiCall(caller, first.uid, { subscriber: subscriberUid(person), node: 'call' });
  expect(called.people).toBe(1);
  await world.run(new Date().toISOString());
  expect(await placeOf(person)).toEqual([expect.stringContaining('2 rest waiting')]);
});

test('a call for one person locks their runs by their ids, as all do, whatever the versions: they never wait for each other both', async () => {
  const call = { id: 'call', type: 'api_call' };
  const entry = { mode: 'per_key', key: 'order' };
  const flow = { triggers, entry, nodes: [call, tag('called')], edges: line('start', 'call', 'called') };
  const first = await world.publish(flow);
  const person = await world.person();
  const enter = async (entryKey: string) => {
    const [entered] = await world.enter(first, [person], { entryKey });
    if (!entered || !('runId' in entered)) throw new Error('The person has not entered.');
    return entered.runId;
  };
  const inSecond = await enter('a');
  const second = await publishAgain(
    first,
    { ...flow, nodes: [call, tag('called'), rest], edges: line('start', 'call', 'called', 'rest') },
    { moves: {} },
  );
  await move(second);
  const inFirst = await enter('b');
  expect(inFirst).toBeGreaterThan(inSecond);
  const lock = (id: bigint) =>
    sql`SELECT 1 FROM hot.flow_run WHERE customer_id = ${list.customerId} AND id = ${id} FOR UPDATE SKIP LOCKED`;
  let called: ReturnType<typeof executeApiCall> | undefined;
  await ctx.database.transaction(async (tx) => {
    expect(await tx.execute(lock(inSecond))).toBe(1);
    let hasEnded = false;
    called = executeApiCall(ctx, first.uid, { subscriber: subscriberUid(person), node: 'call' });
    void called.then(() => (hasEnded = true)).catch(() => (hasEnded = true));
    const isHeldUp = async () =>
      (await ctx.db.execute(
        sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%hot.flow_run%'`,
      )) > 0;
    while (!hasEnded && !(await isHeldUp())) await sleep(20);
    expect(await tx.execute(lock(inFirst)), 'it holds no later one').toBe(1);
  });
  expect(await called).toMatchObject({ people: 2 });
});

test.each(['skip_mails', 'wait_anew'])('who waits for longer in the new version is late no more: %s', async (mode) => {
  const waiting = (days: number) => ({
    ...{ triggers, nodes: [{ id: 'rest', type: 'wait', for: { days } }, tag('new')] },
    edges: line('start', 'rest', 'new'),
  });
  const first = await world.publish(waiting(1));
  const person = await world.person();
  await world.enter(first, [person]);
  await ctx.db.execute(
    sql`UPDATE hot.flow_node SET late_mode = ${mode}, late_until = next_wake_at, late_from = next_wake_at, late_hours = 0, late_total = 1, late_done = 0
         WHERE automation_id = ${first.key.automationId}`,
  );
  await move(await publishAgain(first, waiting(4), { moves: {} }));
  expect(await placeOf(person)).toEqual([expect.stringContaining('2 rest waiting')]);
  const [run] = await queryRows(ctx.db, sql`SELECT reason FROM hot.flow_run WHERE person_id = ${person}`);
  expect(run).toEqual({ reason: null });
});
