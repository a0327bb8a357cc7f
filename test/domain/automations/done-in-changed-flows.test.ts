/** What was done for people is not done again when their flow changes, more than once too, and what was not done is done (D84). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { unsubscribePerson } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { countFinished } from '../../../src/domain/automations/versions/finished-people-store.ts';
import { sendToFinishedPeople } from '../../../src/domain/automations/versions/send-to-finished.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { line, lineFlow as flowOf, stop, tag, triggers, wait } from '../../support/line-flows.ts';
import { versionMoves } from '../../support/version-moves.ts';

const world = await startFlowWorld('2026-12-01T08:00:00Z');
const { ctx, list } = world;
const { move, publishAgain, placeOf } = versionMoves(world);

const OVER = 'one passed next done_before';
/** Every test has some weeks of its own. */
let begin = Date.parse('2026-12-01T08:00:00Z');
const day = (days: number) => new Date(begin + days * 86_400_000).toISOString();
async function nextWeeks() {
  begin += 20 * 86_400_000;
  await ctx.db.execute(sql`SELECT hot.ensure_partitions(${day(-1)}::timestamptz::date, ${day(60)}::timestamptz::date)`);
  await world.run(day(0));
}
const send = (published: Awaited<ReturnType<typeof world.publish>>, node: string) =>
  sendToFinishedPeople(ctx, { ...published.key, node, until: world.now(), afterId: 0n, now: world.now() }, () => false);

/** A person who enters the first of these flows, works there, and is moved to each of the others. */
async function movedThrough(...flows: readonly object[]): Promise<bigint> {
  await nextWeeks();
  const [begun = {}, ...others] = flows;
  let last = await world.publish(begun);
  const person = await world.person();
  await world.enter(last, [person]);
  await world.run();
  for (const flow of others) {
    last = await publishAgain(last, flow, { moves: {} });
    await move(last);
  }
  return person;
}
const worksOf = async (person: bigint, node: string) =>
  (await world.steps(person)).filter((step) => step.startsWith(`${node} passed`));

test('a node of the same id and another type does its work', async () => {
  await nextWeeks();
  const first = await world.publish(flowOf(wait('a', 1), wait('b', 2), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run(day(1));
  const second = await publishAgain(first, flowOf(wait('b', 2), tag('a'), stop), { moves: {} });
  await move(second);
  await world.run(day(3));
  expect((await world.personRow(person))?.tags).toEqual(['a']);
});

test('who was not called in time waits for the call when they come there again', async () => {
  await nextWeeks();
  const call = { id: 'call', type: 'api_call', for: { days: 1 } };
  const first = await world.publish({
    triggers,
    nodes: [call, wait('rest', 5), stop],
    edges: [...line('start', 'call', 'stop'), { from: 'call', port: 'timeout', to: 'rest' }],
  });
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run(day(1));
  await move(await publishAgain(first, flowOf(wait('again', 1), call, stop), { moves: { rest: 'again' } }));
  await world.run(day(2));
  expect(await placeOf(person)).toEqual([`2 call waiting ${day(3)}`]);
});

test('a way round that comes back in a third version passes over what was done, once', async () => {
  const round = (days: number) => ({
    triggers,
    nodes: [tag('one'), wait('rest', days)],
    edges: [...line('start', 'one', 'rest'), { from: 'rest', to: 'one' }],
  });
  const person = await movedThrough(round(1), flowOf(wait('rest', 1), stop), round(2));
  await world.run(day(2));
  expect(await worksOf(person, 'one')).toEqual(['one passed next', OVER]);
  await world.run(day(4));
  expect(await worksOf(person, 'one')).toEqual(['one passed next', OVER, 'one passed next']);
});

test('who was sent, and is moved then, passes over what was done in the run before', async () => {
  await nextWeeks();
  const first = await world.publish(flowOf(tag('one'), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(first, flowOf(tag('one'), wait('rest', 1), stop));
  await send(second, 'rest');
  const third = await publishAgain(second, flowOf(wait('rest', 1), tag('one'), stop), { moves: {} });
  await move(third);
  await world.run(day(1));
  expect(await world.steps(person)).toContain(OVER);
});

test('who is inside with an earlier entry has not finished', async () => {
  await nextWeeks();
  const entry = { mode: 'after_days', days: 1 };
  const ask = { id: 'ask', type: 'condition', if: { payload: { path: 'long', isPresent: true } } };
  const nodes = [ask, wait('rest', 15)];
  const edges = [...line('start', 'ask'), { from: 'ask', port: 'yes', to: 'rest' }];
  const first = await world.publish({ triggers, entry, nodes, edges });
  const person = await world.person();
  await world.enter(first, [person], { payload: { long: 1 } });
  await world.run(day(2));
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(first, { ...flowOf(wait('other', 1), stop), entry });
  expect(await placeOf(person)).toHaveLength(1);
  expect(await countFinished(ctx.db, { ...second.key, listId: list.id, until: world.now() })).toBe(0);
});

test('what was to be passed over is passed over also after a further change', async () => {
  const round = (days: number) => ({
    triggers,
    nodes: [wait('rest', days), tag('one')],
    edges: [...line('start', 'rest', 'one'), { from: 'one', to: 'rest' }],
  });
  const person = await movedThrough(flowOf(tag('one'), wait('rest', 1), stop), round(1), round(2));
  await world.run(day(2));
  expect(await worksOf(person, 'one')).toEqual(['one passed next', OVER]);
});

test('what is no way round any more has no limit of passes', async () => {
  await nextWeeks();
  const nodes = [wait('a', 1), { id: 'b', type: 'wait', for: { hours: 1 } }, stop];
  const first = await world.publish({
    triggers,
    nodes: nodes.slice(0, 2),
    edges: [...line('start', 'a', 'b'), { from: 'b', to: 'a' }],
  });
  const person = await world.person();
  await world.enter(first, [person]);
  for (const days of [1, 1.1, 2.2, 2.3, 3.4, 3.5]) await world.run(day(days));
  const second = await publishAgain(first, { ...flowOf(...nodes), passesMax: 2 }, { moves: {} });
  await move(second);
  for (const days of [5, 6]) await world.run(day(days));
  expect((await world.steps(person)).at(-1)).toBe('stop passed end');
});

test('who is at what was done, and is moved once more before it is passed over, passes over it', async () => {
  await nextWeeks();
  const first = await world.publish(flowOf(tag('one'), wait('gone', 1), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  const second = await publishAgain(first, flowOf(tag('one'), wait('other', 1), stop), { moves: { gone: 'one' } });
  await move(second);
  const third = await publishAgain(second, flowOf(tag('one'), wait('other', 2), stop), { moves: {} });
  await move(third);
  await world.run();
  expect(await world.steps(person)).toContain(OVER);
});

/** They unsubscribe while they wait at `rest`. */
async function expectLeaving(person: bigint): Promise<void> {
  await unsubscribePerson(ctx, { customerId: list.customerId, listId: list.id, id: person }, 'link');
  await world.follow();
  expect(await world.steps(person)).toContain('rest left unsubscribed');
}

test('who passes over an unsubscription leaves when they unsubscribe', async () => {
  await nextWeeks();
  const out = { id: 'out', type: 'unsubscribe' };
  const first = await world.publish(flowOf(out, stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'subscribed' WHERE id = ${person}`);
  const second = await publishAgain(first, flowOf(out, wait('rest', 15), stop));
  await send(second, 'out');
  await world.run();
  expect(await worksOf(person, 'out')).toEqual(['out passed next', 'out passed next done_before']);
  await expectLeaving(person);
});

test('who is led past an unsubscription that failed leaves when they unsubscribe', async () => {
  await nextWeeks();
  const first = await world.publish(flowOf({ id: 'out', type: 'unsubscribe' }, wait('rest', 15), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await ctx.db.execute(sql`UPDATE hot.flow_run SET reason = 'skip' WHERE person_id = ${person}`);
  await world.run();
  expect(await worksOf(person, 'out')).toEqual(['out passed next skipped']);
  await expectLeaving(person);
});

test('who passes over the setting of a date waits for their own date', async () => {
  await nextWeeks();
  await addListField(ctx, list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });
  const ends = (days: number) => day(days).slice(0, 10);
  const set = { id: 'set', type: 'set_field', field: 'ENDS', value: ends(10) };
  const first = await world.publish(flowOf(set, wait('rest', 1), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  const own = { subscriber: subscriberUid(person), listUid: list.uid };
  await updateSubscriber(ctx, { ...own, fieldValues: { ENDS: ends(5) } });
  const until = { id: 'until', type: 'wait_until', field: 'ENDS', at: '09:00' };
  const second = await publishAgain(first, flowOf(wait('rest', 1), set, until, stop), { moves: {} });
  await move(second);
  await world.run(day(1));
  expect(await world.steps(person)).toContain('set passed next done_before');
  const rows = await queryRows<{ wake: Date }>(
    ctx.db,
    sql`SELECT wake_at AS wake FROM hot.flow_run WHERE person_id = ${person} AND node = 'until'`,
  );
  expect(rows.map(({ wake }) => wake.toISOString().slice(0, 10))).toEqual([ends(5)]);
});
