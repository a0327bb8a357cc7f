/** Waits for a date of a person's field: a change of the date moves their end, whichever way (D76). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

// Long after the clock of the database, by which the changes of people are followed.
const world = await startFlowWorld('2126-11-27T08:00:00Z');
await addListField(world.ctx, world.list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });
await addListField(world.ctx, world.list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const triggers = [{ type: 'execute' }];

test('a date that moves to an earlier day, or is emptied, ends the wait by the new one', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'ends', type: 'wait_until', field: 'ENDS', at: '09:00' },
      { id: 'soon', type: 'add_tag', tag: 'on the day' },
      { id: 'none', type: 'add_tag', tag: 'no date' },
    ],
    edges: [...line('start', 'ends', 'soon'), { from: 'ends', port: 'no_date', to: 'none' }],
  });
  const far = { fieldValues: { ENDS: '2127-02-20' } };
  const [earlier, emptied] = [await world.person(far), await world.person(far)];
  const [passed, stays] = [await world.person(far), await world.person(far)];
  const change = (person: bigint, fieldValues: Record<string, string>) =>
    updateSubscriber(world.ctx, { subscriber: subscriberUid(person), listUid: world.list.uid, fieldValues });
  await world.enter(flow, [earlier, emptied, passed, stays]);
  await world.run('2127-02-01T09:00:00Z');
  await change(earlier, { ENDS: '2127-02-10' });
  await change(emptied, { ENDS: '' });
  await change(passed, { ENDS: '2126-12-01' });
  await change(stays, { LEVEL: 'gold' });
  await world.follow();
  await world.run();
  expect(await world.steps(emptied)).toEqual([
    ...['ends entered execute', 'ends passed no_date no_date', 'none passed next'],
  ]);
  expect(await world.steps(passed)).toEqual(['ends entered execute', 'ends passed late late']);
  const wakes = await queryRows<{ person: bigint; wake: Date }>(
    world.ctx.db,
    sql`SELECT person_id AS person, wake_at AS wake FROM hot.flow_run WHERE automation_id = ${flow.key.automationId} ORDER BY wake_at`,
  );
  expect(wakes).toEqual([
    { person: earlier, wake: new Date('2127-02-10T09:00:00Z') },
    { person: stays, wake: new Date('2127-02-20T09:00:00Z') },
  ]);
  await world.run('2127-02-10T09:00:00Z');
  expect((await world.steps(earlier)).at(-1)).toBe('soon passed next');
});

test('another time zone of the person moves the end, too', async () => {
  await addListField(world.ctx, world.list.uid, { type: 'text', label: 'Zone', tag: 'ZONE' });
  await updateList(world.ctx, world.list.uid, { timezoneTag: 'ZONE' });
  const flow = await world.publish({
    ...{ triggers, nodes: [{ id: 'ends', type: 'wait_until', field: 'ENDS', at: '09:00' }] },
    edges: line('start', 'ends'),
  });
  const person = await world.person({ fieldValues: { ENDS: '2127-03-20' } });
  await world.enter(flow, [person]);
  await world.run();
  const change = { subscriber: subscriberUid(person), listUid: world.list.uid, fieldValues: { ZONE: 'Asia/Tokyo' } };
  await updateSubscriber(world.ctx, change);
  await world.follow();
  await world.run();
  const runs = await queryRows(world.ctx.db, sql`SELECT wake_at FROM hot.flow_run WHERE person_id = ${person}`);
  expect(runs).toEqual([{ wake_at: new Date('2127-03-20T00:00:00Z') }]);
});
