/**
 * Changing a live flow (D84): people inside finish on their version, or are moved by a mapping that names a target for every removed node with
 * people; the time that they have waited counts, nothing done is done again, and the counts of both versions balance.
 */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { movePeople } from '../../../src/domain/automations/versions/move-people.ts';
import { previewMoves } from '../../../src/domain/automations/versions/preview-moves.ts';
import { publishWithMoves } from '../../../src/domain/automations/versions/publish-automation.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { movePeopleJob } from '../../../src/jobs/automation-jobs.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { line, lineFlow as flowOf, stop, tag, triggers, wait } from '../../support/line-flows.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { versionMoves } from '../../support/version-moves.ts';

const world = await startFlowWorld();
const { ctx, list } = world;
const { move, publishAgain, placeOf } = versionMoves(world);

const tagsOf = async (personId: bigint) => (await world.personRow(personId))?.tags;

/** Each test has a week of its own. */
let week = 0;
async function nextWeek() {
  week += 1;
  await world.run(onDay(0));
}
/** So many days after its beginning. */
const onDay = (days: number) => new Date(Date.UTC(2026, 11, 1 + 7 * (week - 1) + days, 8)).toISOString();

test('without moves, people inside finish on their version', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), tag('old'), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  const second = await publishAgain(first, flowOf(wait('other', 1), tag('new'), stop));
  await move(second);
  expect(await placeOf(person)).toEqual([`1 rest waiting ${onDay(1)}`]);
  await world.run(onDay(1));
  expect(await tagsOf(person)).toEqual(['old']);
  expect(await world.counts(second)).toEqual({});
});

test('a removed node with people needs a target that exists, and so does a node with other work', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), wait('gone', 3), stop));
  const [ann, ben] = [await world.person(), await world.person()];
  await world.enter(first, [ann, ben]);
  const asked = flowOf({ id: 'rest', type: 'add_tag', tag: 'x' }, wait('more', 5), stop);
  await expect(publishAgain(first, asked, { moves: {} })).rejects.toMatchObject({
    code: 'FLOW_HAS_FAULTS',
    fields: { moves: [expect.stringContaining('“rest”')] },
    faults: [{ node: 'rest', field: 'moves', code: 'no_target', message: expect.stringContaining('other work') }],
  });
  await world.run(onDay(1));
  const faultsWith = async (moves: unknown) =>
    (await previewMoves(ctx, first.uid, { moves })).faults.map(({ node, code }) => `${node} ${code}`);
  expect(await faultsWith({})).toEqual(['gone no_target']);
  expect(await faultsWith(undefined)).toEqual(['gone no_target']);
  expect(await faultsWith({ gone: 'nowhere' })).toEqual(['gone unknown_target']);
  expect(await faultsWith({ gone: 'more', typo: 'more' })).toEqual(['typo unknown_node']);
  expect(await faultsWith({ gone: 'not an id' })).toEqual(['gone invalid']);
  expect(await faultsWith([])).toEqual(['null invalid']);
  expect((await previewMoves(ctx, first.uid, { moves: { gone: 7 } })).faults).toMatchObject([
    { node: 'gone', message: expect.stringContaining('no id of a node') },
  ]);
  expect(await faultsWith({ gone: 'more' })).toEqual([]);
  expect(await previewMoves(ctx, first.uid, { moves: { gone: 'more' } })).toEqual({
    ...{ draftVersion: 2, faults: [] },
    nodes: [{ version: 1, node: 'gone', waiting: 2, parked: 0, to: 'more' }],
  });
  await expect(publishWithMoves(ctx, first.uid, { draftVersion: 2, moves: {} })).rejects.toMatchObject({
    faults: [{ node: 'gone', code: 'no_target', message: expect.stringContaining('no more') }],
  });
  expect(await placeOf(ann), 'nothing has changed').toEqual([expect.stringContaining('1 gone waiting')]);
});

test('a draft with faults has no preview but these', async () => {
  const first = await world.publish(flowOf(stop));
  await expect(publishAgain(first, { triggers: [], nodes: [], edges: [] }, { moves: {} })).rejects.toMatchObject({
    faults: [{ code: 'no_trigger' }, { code: 'no_node' }],
  });
  expect(await previewMoves(ctx, first.uid, {})).toMatchObject({
    nodes: [],
    faults: [{ code: 'no_trigger' }, { code: 'no_node' }],
  });
});

test('the time already waited counts, and counts and history of both versions say where people went', async () => {
  await nextWeek();
  const first = await world.publish(
    flowOf(wait('same', 2), wait('longer', 2), wait('shorter', 9), wait('gone', 9), stop),
  );
  const people = await subscriberPeople(ctx.db, list, 4);
  const [same = 0n, longer = 0n, shorter = 0n, gone = 0n] = people;
  await world.enter(first, people);
  // Each to the node of their name, at the same time.
  for (const [personId, node] of [
    [longer, 'longer'],
    [shorter, 'shorter'],
    [gone, 'gone'],
  ] as const)
    await ctx.db.execute(
      sql`WITH moved AS (UPDATE hot.flow_run SET node = ${node}, wake_at = since + interval '9 days' WHERE person_id = ${personId}),
               counted AS (UPDATE hot.flow_node SET waiting = waiting - 1, passed = passed + 1 WHERE automation_id = ${first.key.automationId} AND node = 'same')
          INSERT INTO hot.flow_node (customer_id, automation_id, version, node, entered, waiting, next_wake_at)
          VALUES (${first.key.customerId}, ${first.key.automationId}, 1, ${node}, 1, 1, now())`,
    );
  await world.run(onDay(1));
  const second = await publishAgain(
    first,
    flowOf(
      wait('same', 2),
      wait('longer', 5),
      { id: 'shorter', type: 'wait', for: { hours: 3 } },
      wait('target', 4),
      stop,
    ),
    { moves: { gone: 'target' } },
  );
  await move(second);
  expect(await placeOf(same)).toEqual([`2 same waiting ${onDay(2)}`]);
  expect(await placeOf(longer)).toEqual([`2 longer waiting ${onDay(5)}`]);
  expect(await placeOf(shorter)).toEqual([`2 shorter due ${onDay(1)}`]);
  expect(await placeOf(gone)).toEqual([`2 target waiting ${onDay(4)}`]);
  expect(await world.counts(first)).toEqual({
    ...{ same: 'entered 4, passed 3, left 1', longer: 'entered 1, left 1' },
    ...{ shorter: 'entered 1, left 1', gone: 'entered 1, left 1' },
  });
  const one = 'entered 1, waiting 1';
  expect(await world.counts(second)).toEqual({ same: one, longer: one, shorter: one, target: one });
  expect((await world.steps(gone)).slice(1)).toEqual(['gone left new_version', 'target moved new_version']);
  const [step] = await queryRows(
    ctx.db,
    sql`SELECT version, no, details FROM hot.flow_step WHERE person_id = ${gone} AND what = 'moved'`,
  );
  expect(step).toEqual({ version: 2, no: 3, details: { version: 1, node: 'gone' } });
  await move(second, true);
  expect(await world.counts(second), 'once').toEqual({ same: one, longer: one, shorter: one, target: one });
});

test('what was done is not done again: the run keeps its mails, and passes over what it has had', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(tag('one'), wait('rest', 1), tag('two'), stop));
  const [person, later] = [await world.person(), await world.person()];
  await world.enter(first, [person]);
  await world.run();
  const [{ id } = { id: 0n }] = await runsOf(person);
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ${person}`);
  const second = await publishAgain(first, flowOf(wait('rest', 1), tag('one'), tag('three'), stop), { moves: {} });
  await world.enter(second, [later]);
  await move(second);
  expect(await runsOf(person), 'the same run, whose mails have the same names').toEqual([
    { id, done: ['add_tag one'] },
  ]);
  expect(await runsOf(later)).toEqual([{ id: expect.anything(), done: null }]);
  await world.run(onDay(1));
  expect(await tagsOf(person)).toEqual(['three']);
  expect(await tagsOf(later)).toEqual(['one', 'three']);
  expect(await world.steps(person)).toContain('one passed next done_before');
});

test('who is moved twice before they could pass over what was done passes over it', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(tag('one'), wait('rest', 1), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ${person}`);
  const second = await publishAgain(first, flowOf(tag('one'), tag('two'), stop), { moves: { rest: 'one' } });
  await move(second);
  const third = await publishAgain(second, flowOf(tag('one'), tag('three'), stop), { moves: {} });
  await move(third);
  await world.run();
  expect(await tagsOf(person)).toEqual(['three']);
});

const runsOf = (personId: bigint) =>
  queryRows<{ id: bigint; done: string[] | null }>(
    ctx.db,
    sql`SELECT id, done FROM hot.flow_run WHERE person_id = ${personId}`,
  );

test('a way round goes on where it was, with its passes', async () => {
  await nextWeek();
  const nodes = [tag('again'), wait('rest', 1)];
  const edges = [...line('start', 'again', 'rest'), { from: 'rest', to: 'again' }];
  const first = await world.publish({ triggers, nodes, edges });
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run();
  await world.run(onDay(1));
  const second = await publishAgain(first, { triggers, nodes, edges, passesMax: 3 }, { moves: {} });
  await move(second);
  await world.run(onDay(2));
  expect((await world.steps(person)).filter((step) => step.startsWith('again passed'))).toHaveLength(3);
  expect((await world.steps(person)).filter((step) => step.includes('done_before'))).toEqual([]);
  await world.run(onDay(3));
  expect((await world.steps(person)).at(-1)).toBe('rest left too_many_passes');
});

test('parked people stay parked at the target, or by choice in their version', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(tag('mark'), stop));
  const [moved, stays] = [await world.person(), await world.person()];
  const park = async (published: typeof first, person: bigint) => {
    await ctx.db.execute(
      sql`UPDATE subscriber SET tags = ARRAY(SELECT 't' || n FROM generate_series(1, 1000) n) WHERE id = ${person}`,
    );
    await world.enter(published, [person]);
    await world.run();
  };
  await park(first, moved);
  expect(await placeOf(moved)).toEqual(['1 mark parked without end']);
  const second = await publishAgain(first, flowOf(tag('other'), stop), { moves: { mark: 'other' } });
  await move(second);
  expect(await placeOf(moved)).toEqual(['2 other parked without end']);
  expect(await world.counts(first)).toEqual({ mark: 'entered 1, left 1' });
  expect(await world.counts(second)).toEqual({ other: 'entered 1, parked 1' });
  await park(second, stays);
  const third = await publishAgain(second, flowOf(tag('third'), stop), { moves: {}, moveParked: false });
  await move(third);
  expect(await placeOf(stays)).toEqual(['2 other parked without end']);
});

test('who was late when the flow went on keeps their turn', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), stop));
  const people = await subscriberPeople(ctx.db, list, 3);
  await world.enter(first, people);
  const from = new Date(onDay(2));
  await ctx.db.execute(
    sql`UPDATE hot.flow_node SET late_mode = 'spread', late_until = ${onDay(1)}, late_from = ${from}, late_hours = 2, late_total = 3, late_done = 0
         WHERE automation_id = ${first.key.automationId}`,
  );
  const second = await publishAgain(first, flowOf(wait('rest', 1), tag('new'), stop), { moves: {} });
  await move(second);
  const turns = await queryRows<{ after: number }>(
    ctx.db,
    sql`SELECT (extract(epoch FROM wake_at - ${from}::timestamptz) / 3600)::int AS after FROM hot.flow_run WHERE person_id = ANY (${people}::bigint[]) ORDER BY id`,
  );
  expect(turns.map(({ after }) => after)).toEqual([0, 1, 2]);
  const [node] = await queryRows(
    ctx.db,
    sql`SELECT late_done::int AS done FROM hot.flow_node WHERE automation_id = ${first.key.automationId} AND version = 1`,
  );
  expect(node).toEqual({ done: 3 });
});

test('who is late in a stopped flow stays late where they are moved', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), tag('old'), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  await setAutomationStatus(ctx, first.uid, 'inactive');
  await world.run(onDay(3));
  const second = await publishAgain(first, flowOf(tag('new'), stop), { moves: { rest: 'new' } });
  await move(second);
  expect(await placeOf(person)).toEqual([`2 new due ${onDay(1)}`]);
});

test('a second change waits for the first, and a last round finds who was on the way', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), stop));
  const second = await publishAgain(first, flowOf(wait('rest', 2), stop), { moves: {} });
  await expect(publishAgain(second, flowOf(wait('rest', 3), stop), { moves: {} })).rejects.toMatchObject({
    code: 'PEOPLE_IN_MOVE',
    message: expect.stringContaining('version 2'),
  });
  await move(second);
  const late = await world.person();
  await world.enter(first, [late]);
  const jobs = await queryRows<{ payload: object }>(
    ctx.db,
    sql`SELECT j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
         WHERE t.identifier = ${movePeopleJob.name} AND j.payload->>'automationId' = ${String(first.key.automationId)} AND (j.payload->>'isLast')::boolean`,
  );
  expect(jobs).toHaveLength(1);
  const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
  await automationTasks.find(({ name }) => name === movePeopleJob.name)?.run(ctx, jobs[0]?.payload ?? {}, helpers);
  expect(await placeOf(late)).toEqual([expect.stringContaining('2 rest')]);
  const third = await publishAgain(second, flowOf(wait('rest', 3), stop), { moves: {} });
  expect(third.key.version).toBe(3);
});

test('publishing what is live already moves people to it', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), stop));
  const person = await world.person();
  await world.enter(first, [person]);
  const flow = flowOf(wait('rest', 4), stop);
  const second = await publishAgain(first, flow);
  const again = await publishAgain(second, flow, { moves: {} });
  expect(again.key.version).toBe(2);
  await move(again);
  expect(await placeOf(person)).toEqual([`2 rest waiting ${onDay(4)}`]);
});

test('a stopped flow moves people, who stay where they are; who is gone leaves when it goes on', async () => {
  await nextWeek();
  const first = await world.publish(flowOf(wait('rest', 1), stop));
  const [person, gone] = [await world.person(), await world.person()];
  await world.enter(first, [person, gone]);
  await setAutomationStatus(ctx, first.uid, 'inactive');
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE id = ${gone}`);
  const second = await publishAgain(first, flowOf(wait('rest', 3), stop), { moves: {} });
  await move(second);
  await world.run(onDay(1));
  expect(await placeOf(person)).toEqual([`2 rest waiting ${onDay(3)}`]);
  await setAutomationStatus(ctx, first.uid, 'active', { mode: 'now' });
  await world.run(onDay(1));
  expect((await world.steps(gone)).at(-1)).toBe('rest left deleted');
});

test('a process that dies between any two statements has moved people or not, and the next one goes on', async () => {
  await nextWeek();
  let diesAt = 1;
  for (let isDead = true; isDead; diesAt++) {
    const first = await world.publish(flowOf(wait('rest', 1), wait('gone', 1), stop));
    const people = await subscriberPeople(ctx.db, list, 3);
    await world.enter(first, people);
    const second = await publishAgain(first, flowOf(wait('other', 1), stop), { moves: { rest: 'other' } });
    const process = mortalProcess(ctx, diesAt);
    const moving = { ...second.key, afterId: 0n, isLast: false, now: world.now() };
    await movePeople(process.ctx, moving, () => process.isDead()).catch((error: unknown) => {
      if (!process.isDead()) throw error;
    });
    isDead = process.isDead();
    const [before] = await queryRows<{ moved: number; steps: number }>(
      ctx.db,
      sql`SELECT count(*) FILTER (WHERE version = 2)::int AS moved,
                 (SELECT count(*)::int FROM hot.flow_step WHERE person_id = ANY (${people}::bigint[]) AND what = 'moved') AS steps
            FROM hot.flow_run WHERE person_id = ANY (${people}::bigint[])`,
    );
    expect(before?.moved).toBe(before?.steps);
    await move(second);
    expect(await world.counts(first)).toEqual({ rest: 'entered 3, left 3' });
    expect(await world.counts(second)).toEqual({ other: 'entered 3, waiting 3' });
    expect(await world.steps(people[0] ?? 0n)).toEqual([
      ...['rest entered execute', 'rest left new_version', 'other moved new_version'],
    ]);
  }
  expect(diesAt).toBeGreaterThan(10);
}, 300_000);
