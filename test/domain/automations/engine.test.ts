/** People go through flows: each exactly the way that the flow says, once, with every step in the history and counts that add up. */
import { expect, test } from 'vitest';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { unsubscribePerson } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { deleteSubscriber } from '../../../src/domain/audience/delete-subscriber.ts';
import { sql } from '../../../src/db/database.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld();
await addListField(world.ctx, world.list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });
await addListField(world.ctx, world.list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const triggers = [{ type: 'execute' }];

test('a person waits for calendar days, is judged then, and gets what the way says', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'rest', type: 'wait', for: { days: 2 }, at: '09:00' },
      { id: 'gold', type: 'condition', if: { person: { field: { tag: 'LEVEL', text: { is: 'gold' } } } } },
      { id: 'vip', type: 'add_tag', tag: 'vip' },
      { id: 'level', type: 'set_field', field: 'LEVEL', value: 'silver' },
      { id: 'stop', type: 'end' },
    ],
    edges: [
      ...line('start', 'rest', 'gold'),
      { from: 'gold', port: 'yes', to: 'vip' },
      { from: 'gold', port: 'no', to: 'level' },
      ...line('level', 'stop'),
    ],
  });
  const [gold, other] = [await world.person({ fieldValues: { LEVEL: 'Gold' } }), await world.person()];
  expect(await world.enter(flow, [gold, other])).toEqual([{ runId: expect.anything() }, { runId: expect.anything() }]);
  expect(await world.run('2026-11-29T08:59:59Z')).toBe(0);
  expect(await world.counts(flow)).toEqual({ rest: 'entered 2, waiting 2' });
  await world.run('2026-11-29T09:00:00Z');
  expect(await world.steps(gold)).toEqual([
    'rest entered execute',
    'rest passed next',
    'gold passed yes',
    'vip passed next',
  ]);
  expect(await world.steps(other)).toEqual([
    ...['rest entered execute', 'rest passed next', 'gold passed no', 'level passed next', 'stop passed end'],
  ]);
  expect(await world.personRow(gold)).toMatchObject({ tags: ['vip'], fields: { LEVEL: 'Gold' } });
  expect(await world.personRow(other)).toMatchObject({ tags: [], fields: { LEVEL: 'silver' } });
  expect(await world.counts(flow)).toEqual({
    rest: 'entered 2, passed 2',
    gold: 'entered 2, passed 2',
    vip: 'entered 1, passed 1',
    level: 'entered 1, passed 1',
    stop: 'entered 1, passed 1',
  });
  expect(await world.enter(flow, [gold])).toEqual([{ refused: 'entered_before' }]);
});

test('who has left the list or is gone leaves the flow, and an unsubscribe in the flow leads on', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'rest', type: 'wait', for: { hours: 1 } },
      { id: 'leave', type: 'unsubscribe' },
      { id: 'late', type: 'wait', for: { hours: 1 } },
      { id: 'mark', type: 'add_tag', tag: 'gone' },
    ],
    edges: line('start', 'rest', 'leave', 'late', 'mark'),
  });
  const [stays, leaves, goes] = [await world.person(), await world.person(), await world.person()];
  await world.enter(flow, [stays, leaves, goes]);
  const key = { customerId: world.list.customerId, listId: world.list.id, id: leaves };
  await unsubscribePerson(world.ctx, key, 'link');
  await deleteSubscriber(world.ctx, { subscriber: subscriberUid(goes), listUid: world.list.uid });
  await world.run('2026-11-29T10:00:00Z');
  expect(await world.steps(leaves)).toEqual(['rest entered execute', 'rest left unsubscribed']);
  expect(await world.counts(flow)).toMatchObject({ rest: 'entered 3, passed 1, left 2', late: 'entered 1, waiting 1' });
  await world.run('2026-11-29T11:00:00Z');
  expect(await world.personRow(stays)).toMatchObject({ status: 'unsubscribed', tags: ['gone'] });
});

test('a changed date moves the end of a wait, and no date is a port of its own', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'ends', type: 'wait_until', field: 'ENDS', before: { days: 3 }, at: '09:00' },
      { id: 'soon', type: 'add_tag', tag: 'ends soon' },
      { id: 'none', type: 'add_tag', tag: 'no date' },
    ],
    edges: [...line('start', 'ends', 'soon'), { from: 'ends', port: 'no_date', to: 'none' }],
  });
  const [dated, moved, undated, past] = [
    await world.person({ fieldValues: { ENDS: '2026-12-10' } }),
    await world.person({ fieldValues: { ENDS: '2026-12-10' } }),
    await world.person(),
    await world.person({ fieldValues: { ENDS: '2026-11-01' } }),
  ];
  await world.enter(flow, [dated, moved, undated, past]);
  await world.run();
  expect(await world.steps(undated)).toEqual([
    'ends entered execute',
    'ends passed no_date no_date',
    'none passed next',
  ]);
  expect(await world.steps(past)).toEqual(['ends entered execute', 'ends passed late late']);
  const { updateSubscriber } = await import('../../../src/domain/audience/update-subscriber.ts');
  await updateSubscriber(world.ctx, {
    subscriber: subscriberUid(moved),
    listUid: world.list.uid,
    fieldValues: { ENDS: '2026-12-20' },
  });
  await world.run('2026-12-07T09:00:00Z');
  expect(await world.counts(flow)).toMatchObject({
    ends: 'entered 4, waiting 1, passed 3',
    soon: 'entered 1, passed 1',
  });
  await world.run('2026-12-17T09:00:00Z');
  expect(await world.counts(flow)).toMatchObject({ ends: 'entered 4, passed 4', soon: 'entered 2, passed 2' });
});

test('a way round ends after the limit of passes', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'again', type: 'add_tag', tag: 'again' },
      { id: 'rest', type: 'wait', for: { hours: 1 } },
    ],
    edges: line('start', 'again', 'rest', 'again'),
    passesMax: 3,
  });
  const person = await world.person();
  await world.enter(flow, [person]);
  const beginsAt = world.now().getTime();
  for (let hour = 0; hour < 6; hour++) await world.run(new Date(beginsAt + hour * 3_600_000).toISOString());
  expect(await world.counts(flow)).toEqual({ again: 'entered 3, passed 3', rest: 'entered 3, passed 2, left 1' });
  expect((await world.steps(person)).at(-1)).toBe('rest left too_many_passes');
});

test('a person enters again after the end, and several times at once by keys', async () => {
  const nodes = [{ id: 'rest', type: 'wait', for: { hours: 1 } }];
  const again = await world.publish({ triggers, nodes, edges: line('start', 'rest'), entry: { mode: 'after_end' } });
  const person = await world.person();
  expect(await world.enter(again, [person, person])).toEqual([{ runId: expect.anything() }, { refused: 'in_flow' }]);
  expect(await world.enter(again, [person])).toEqual([{ refused: 'in_flow' }]);
  await world.run(new Date(world.now().getTime() + 3_600_000).toISOString());
  expect(await world.enter(again, [person])).toEqual([{ runId: expect.anything() }]);
  const carts = await world.publish({
    ...{ triggers, nodes, edges: line('start', 'rest') },
    entry: { mode: 'per_key', key: 'cart' },
  });
  expect(await world.enter(carts, [person], { entryKey: 'a' })).toEqual([{ runId: expect.anything() }]);
  expect(await world.enter(carts, [person], { entryKey: 'b' })).toEqual([{ runId: expect.anything() }]);
  expect(await world.enter(carts, [person], { entryKey: 'a' })).toEqual([{ refused: 'key_entered' }]);
  expect(await world.enter(carts, [person])).toEqual([{ refused: 'no_key' }]);
});

test('a tag is removed in whatever case it is written, and others stay', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'less', type: 'remove_tag', tag: 'VIP' }],
    edges: line('start', 'less'),
  });
  const [tagged, plain] = [await world.person({ tags: ['new', 'vip', 'gold'] }), await world.person({ tags: ['new'] })];
  await world.enter(flow, [tagged, plain], { depth: 2 });
  await world.run();
  const untagged = await queryRows<{ depth: number }>(
    world.ctx.db,
    sql`SELECT depth FROM hot.person_event WHERE customer_id = ${world.list.customerId} AND person_id = ${tagged} AND kind = 5`,
  );
  expect(untagged, 'the event is one flow deeper').toEqual([{ depth: 3 }]);
  expect((await world.personRow(tagged))?.tags).toEqual(['new', 'gold']);
  expect((await world.personRow(plain))?.tags).toEqual(['new']);
});

test('50 at once enter once', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }],
    edges: line('start', 'rest'),
  });
  const person = await world.person();
  const answers = await Promise.all(Array.from({ length: 50 }, () => world.enter(flow, [person])));
  expect(answers.flat().filter((one) => 'runId' in one)).toHaveLength(1);
  expect(await world.counts(flow)).toEqual({ rest: 'entered 1, waiting 1' });
});

test('a split is even, and the same for a person however often it is asked', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      {
        id: 'ways',
        type: 'split',
        variants: [
          { name: 'a', percent: 30 },
          { name: 'b', percent: 70 },
        ],
      },
      { id: 'a', type: 'end' },
      { id: 'b', type: 'end' },
    ],
    edges: [
      ...line('start', 'ways'),
      { from: 'ways', port: 'variant:a', to: 'a' },
      { from: 'ways', port: 'variant:b', to: 'b' },
    ],
  });
  // Whom each way gets is by chance, as the flow has another uid each time: with so many a tenth more or less is not.
  const people = await subscriberPeople(world.ctx.db, world.list, 1_000);
  await world.enter(flow, people);
  await world.run();
  const { a = '' } = await world.counts(flow);
  const share = Number(/entered (\d+)/.exec(a)?.[1]) / people.length;
  expect(share).toBeGreaterThan(0.2);
  expect(share).toBeLessThan(0.4);
});

test('a flow that is stopped moves nobody, and goes on afterwards', async () => {
  const { setAutomationStatus } = await import('../../../src/domain/automations/stopping/set-automation-status.ts');
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'rest', type: 'wait', for: { hours: 1 } }],
    edges: line('start', 'rest'),
  });
  await world.enter(flow, [await world.person()]);
  await setAutomationStatus(world.ctx, flow.uid, 'inactive');
  const later = new Date(world.now().getTime() + 7_200_000).toISOString();
  await world.run(later);
  expect(await world.counts(flow)).toEqual({ rest: 'entered 1, waiting 1' });
  await setAutomationStatus(world.ctx, flow.uid, 'active', { mode: 'now' });
  await world.run(later);
  expect(await world.counts(flow)).toEqual({ rest: 'entered 1, passed 1' });
});

test('a date that the field moved back by more than a day is late when the person wakes', async () => {
  const { updateSubscriber } = await import('../../../src/domain/audience/update-subscriber.ts');
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'ends', type: 'wait_until', field: 'ENDS', at: '09:00' },
      { id: 'soon', type: 'add_tag', tag: 'on the day' },
    ],
    edges: line('start', 'ends', 'soon'),
  });
  const person = await world.person({ fieldValues: { ENDS: '2027-01-20' } });
  await world.run('2026-12-20T09:00:00Z');
  await world.enter(flow, [person]);
  const changed = { subscriber: subscriberUid(person), listUid: world.list.uid, fieldValues: { ENDS: '2027-01-10' } };
  await updateSubscriber(world.ctx, changed);
  await world.run('2027-01-20T09:00:00Z');
  expect(await world.steps(person)).toEqual(['ends entered execute', 'ends passed late late']);
});

test('a run that fails is tried again later, then parked; others go on, and counts balance', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [{ id: 'mark', type: 'add_tag', tag: 'marked' }],
    edges: line('start', 'mark'),
  });
  const [bad, good] = [await world.person(), await world.person()];
  await world.ctx.db.execute(sql`
    CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`);
  await world.ctx.db.execute(
    sql([
      `CREATE TRIGGER refuse_one BEFORE UPDATE ON subscriber FOR EACH ROW WHEN (OLD.id = ${bad}) EXECUTE FUNCTION refuse_one()`,
    ]),
  );
  await world.enter(flow, [bad, good]);
  let at = world.now().getTime();
  for (let tries = 0; tries < 5; tries++, at += 3_600_000) await world.run(new Date(at).toISOString());
  await world.ctx.db.execute(sql`DROP TRIGGER refuse_one ON subscriber`);
  expect((await world.steps(bad)).at(-1)).toBe('mark parked failed');
  expect((await world.personRow(good))?.tags).toEqual(['marked']);
  expect(await world.counts(flow)).toEqual({ mark: 'entered 2, passed 1, parked 1' });
});

test('a node that cannot be worked on as a whole holds up no other, and is tried again', async () => {
  const nodes = [{ id: 'mark', type: 'add_tag', tag: 'other' }];
  const broken = await world.publish({ triggers, nodes, edges: line('start', 'mark') });
  const well = await world.publish({ triggers, nodes, edges: line('start', 'mark') });
  const [one, two] = [await world.person(), await world.person()];
  await world.enter(broken, [one]);
  await world.ctx.db.execute(
    sql`UPDATE hot.flow_node SET node = 'gone' WHERE automation_id = ${broken.key.automationId}`,
  );
  await world.enter(well, [two]);
  await world.run();
  expect((await world.personRow(two))?.tags).toEqual(['other']);
});
