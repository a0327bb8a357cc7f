/** What was done for people is not done again when their flow changes, more than once too, and what was not done is done (D84). */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { countFinished } from '../../../src/domain/automations/finished-people-store.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { line, lineFlow as flowOf, stop, triggers, wait } from '../../support/line-flows.ts';
import { versionMoves } from '../../support/version-moves.ts';

const world = await startFlowWorld('2026-12-01T08:00:00Z');
const { ctx, list } = world;
const { move, publishAgain, placeOf } = versionMoves(world);

/** Every test has some weeks of its own. */
let begin = Date.parse('2026-12-01T08:00:00Z');
const day = (days: number) => new Date(begin + days * 86_400_000).toISOString();
async function nextWeeks() {
  begin += 20 * 86_400_000;
  await ctx.db.execute(sql`SELECT hot.ensure_partitions(${day(-1)}::timestamptz::date, ${day(60)}::timestamptz::date)`);
  await world.run(day(0));
}

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
