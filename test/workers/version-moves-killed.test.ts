/**
 * People of a flow who are moved to a new version, or sent to it after they have finished, by workers that are killed again and again: nobody is
 * lost, and nothing is done twice (D84, D88).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Sql } from '../../src/db/database.ts';
import { sendToFinished } from '../../src/domain/automations/versions/send-to-finished.ts';
import { subscriberPeople } from '../support/flow-people.ts';
import { startFlowWorld } from '../support/flow-world.ts';
import { startProgram } from '../support/program.ts';
import { versionMoves } from '../support/version-moves.ts';

const PEOPLE = 4_000;
const KILLS = 3;

// An hour ago: a short wait is over when people come to it, a long one is not.
const world = await startFlowWorld(new Date(Date.now() - 3_600_000).toISOString());
const { ctx, list } = world;
const { publishAgain } = versionMoves(world);

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const flowOf = (...nodes: { readonly id: string; readonly [key: string]: unknown }[]) => ({
  triggers: [{ type: 'execute' }],
  nodes,
  edges: line('start', ...nodes.map(({ id }) => id)),
});
const tag = (id: string) => ({ id, type: 'add_tag', tag: id });
const wait = (id: string, wanted: object) => ({ id, type: 'wait', for: wanted });
type Published = Awaited<ReturnType<typeof world.publish>>;

async function countOf(where: Sql): Promise<number> {
  const [found] = await queryRows<{ count: number }>(ctx.db, sql`SELECT count(*)::int AS count FROM ${where}`);
  return found?.count ?? 0;
}
const runsAt = ({ key }: Published, node: string) =>
  countOf(
    sql`hot.flow_run WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} AND version = ${key.version} AND node = ${node}`,
  );
const runsIn = ({ key }: Published) =>
  countOf(
    sql`hot.flow_run WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} AND version = ${key.version}`,
  );
/** How many people have this step, and how many such steps there are. */
async function stepsOf({ key }: Published, node: string, what: string) {
  const [found] = await queryRows<{ steps: number; people: number }>(
    ctx.db,
    sql`SELECT count(*)::int AS steps, count(DISTINCT person_id)::int AS people FROM hot.flow_step
         WHERE customer_id = ${key.customerId} AND automation_id = ${key.automationId} AND version = ${key.version} AND node = ${node} AND what = ${what}`,
  );
  return found;
}
const ONCE = { steps: PEOPLE, people: PEOPLE };

/** Kills a worker each time that so many more have come, and lets another one go on until all have arrived at the node. */
async function workWithKills(version: Published, node: string): Promise<void> {
  const settings = { DATABASE_URL: ctx.database.url, ROLES: 'worker' };
  for (let kill = 1; kill <= KILLS; kill++) {
    const worker = await startProgram(settings);
    while ((await runsIn(version)) < (PEOPLE * kill) / (KILLS + 1)) await sleep(5);
    await worker.kill();
  }
  const survivor = await startProgram(settings);
  await expect.poll(() => runsAt(version, node), { timeout: 300_000, interval: 200 }).toBe(PEOPLE);
  await survivor.stop();
}

test('kill -9 while people are moved loses nobody, and does nothing twice', async () => {
  const first = await world.publish(flowOf(tag('one'), wait('rest', { days: 30 })));
  await world.enter(first, await subscriberPeople(ctx.db, list, PEOPLE));
  await world.run();
  const second = await publishAgain(
    first,
    flowOf(wait('short', { minutes: 1 }), tag('one'), tag('two'), wait('long', { days: 30 })),
    { moves: { rest: 'short' } },
  );
  await workWithKills(second, 'long');
  expect(await world.counts(first)).toEqual({
    one: `entered ${PEOPLE}, passed ${PEOPLE}`,
    rest: `entered ${PEOPLE}, left ${PEOPLE}`,
  });
  const through = `entered ${PEOPLE}, passed ${PEOPLE}`;
  expect(await world.counts(second)).toEqual({
    ...{ short: through, one: through, two: through, long: `entered ${PEOPLE}, waiting ${PEOPLE}` },
  });
  expect(await stepsOf(first, 'rest', 'left')).toEqual(ONCE);
  expect(await stepsOf(second, 'short', 'moved')).toEqual(ONCE);
  expect(await stepsOf(second, 'two', 'passed')).toEqual(ONCE);
}, 900_000);

test('kill -9 while those who have finished are sent to a node lets each in once', async () => {
  const first = await world.publish(flowOf(tag('one')));
  await world.enter(first, await subscriberPeople(ctx.db, list, PEOPLE));
  await world.run();
  const second = await publishAgain(first, flowOf(tag('one'), tag('two'), wait('long', { days: 30 })));
  expect(await sendToFinished(ctx, first.uid, { node: 'one', people: PEOPLE })).toBe(PEOPLE);
  await workWithKills(second, 'long');
  expect(await world.counts(second)).toMatchObject({ long: `entered ${PEOPLE}, waiting ${PEOPLE}` });
  expect(await stepsOf(second, 'one', 'entered')).toEqual(ONCE);
  expect(await stepsOf(second, 'two', 'passed')).toEqual(ONCE);
}, 900_000);
