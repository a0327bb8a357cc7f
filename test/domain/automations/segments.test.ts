/** Segments bring people into flows: who comes in or leaves, once each time; nobody by publishing, by an import or by another rule. */
import { expect, test } from 'vitest';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { deleteSegment } from '../../../src/domain/audience/segments/delete-segment.ts';
import { updateSegment } from '../../../src/domain/audience/segments/update-segment.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { deleteAutomation } from '../../../src/domain/automations/delete-automation.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { sql } from '../../../src/db/database.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { createTestContext } from '../../support/test-context.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { startTriggerWorld } from '../../support/trigger-world.ts';

const context = await createTestContext();
const ONE_NODE = { nodes: [{ id: 'stop', type: 'end' }], edges: [{ from: 'start', to: 'stop' }] };
const GOLD = { field: { tag: 'LEVEL', text: { is: 'gold' } } };

async function startWorld(beginsAt = '2022-06-01T00:00:00Z', rule: object = GOLD) {
  const world = await startTriggerWorld(beginsAt, context);
  const { ctx, list } = world;
  await addListField(ctx, list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });
  const { uid } = await createSegment(ctx, { listUid: list.uid, name: 'Gold', rule });
  const level = (id: bigint, LEVEL: string) =>
    updateSubscriber(ctx, { subscriber: subscriberUid(id), fieldValues: { LEVEL } });
  const people = async (flow: Parameters<typeof world.entries>[0]) =>
    (await world.entries(flow)).map(({ personId }) => personId);
  return { ...world, segmentUid: uid, level, people };
}

test('who comes in enters, again when they come again; who was in when it was published does not', async () => {
  const world = await startWorld();
  const [old, fresh] = [await world.person({ fieldValues: { LEVEL: 'gold' } }), await world.person()];
  const [came, left] = [
    await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]),
    await world.watch([{ type: 'segment_left', segmentUid: world.segmentUid }]),
  ];
  await world.level(fresh, 'Gold');
  const late = await world.person({ fieldValues: { LEVEL: 'gold' } });
  await world.look('2022-06-01T00:01:00Z');
  expect(await world.people(came)).toEqual([fresh, late]);
  await world.run('2022-06-01T00:01:00Z');
  await world.level(old, '');
  await world.level(fresh, 'silver');
  await world.look('2022-06-01T00:02:00Z');
  expect(await world.people(left)).toEqual([old, fresh]);
  await world.level(fresh, 'gold');
  await world.look('2022-06-01T00:03:00Z');
  expect(await world.people(came)).toEqual([fresh, late, fresh]);
  expect(await world.look()).toBe(0);
  expect(await world.days(came)).toEqual(['2022-06-01 entered 3']);
});

test('by an import that starts no flows, or by another rule, nobody enters: they are remembered', async () => {
  const world = await startWorld();
  const flow = await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]);
  const [silver, other] = [await world.person({ fieldValues: { LEVEL: 'silver' } }), await world.person()];
  await world.ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SELECT set_config('mailwright.run_automations', 'off', true)`);
    await tx.execute(
      sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
          SELECT ${world.list.customerId}, ${world.list.id}, 'i' || n || '@x.example', 'i' || n || '@x.example', 'subscribed', '{"LEVEL": "gold"}' FROM generate_series(1, 50) n`,
    );
  });
  await world.look('2022-06-01T00:01:00Z');
  await updateSegment(world.ctx, world.segmentUid, {
    rule: { field: { tag: 'LEVEL', text: { in: ['gold', 'silver'] } } },
  });
  await world.look('2022-06-01T00:02:00Z');
  expect(await world.people(flow)).toEqual([]);
  await world.level(silver, 'gold');
  await world.level(other, 'silver');
  await world.look('2022-06-01T00:03:00Z');
  expect(await world.people(flow)).toEqual([other]);
});

test('while all people are looked at, an import that starts no flows lets nobody in, and who comes is not lost', async () => {
  const world = await startWorld();
  const { ctx, list } = world;
  const old = await world.person({ fieldValues: { LEVEL: 'gold' } });
  await ctx.db.execute(sql`UPDATE subscriber SET created_at = '2022-01-01' WHERE id = ${old}`);
  const flow = await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]);
  await ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SELECT set_config('mailwright.run_automations', 'off', true)`);
    await tx.execute(
      sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
          SELECT ${list.customerId}, ${list.id}, 'i' || n || '@x.example', 'i' || n || '@x.example', 'subscribed', '{"LEVEL": "gold"}' FROM generate_series(1, 2500) n`,
    );
  });
  // The hourly look at all has begun before these are taken.
  await world.look('2022-06-01T01:05:00Z');
  expect(await world.people(flow)).toEqual([]);
  // The first look at all, of a list so large that it is not over yet.
  await ctx.db.execute(sql`DELETE FROM hot.flow_trigger_person WHERE customer_id = ${list.customerId}`);
  await ctx.db.execute(
    sql`UPDATE hot.flow_trigger SET walk_after = 0, walk_enters = false WHERE customer_id = ${list.customerId}`,
  );
  const fresh = await world.person({ fieldValues: { LEVEL: 'gold' } });
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{new}' WHERE id = ${old}`);
  await world.look('2022-06-01T01:06:00Z');
  expect(await world.people(flow)).toEqual([fresh]);
});

test('a rule about time is judged each hour, and `if` then', async () => {
  const world = await startWorld('2022-06-01T00:00:00Z', { createdAt: { moreThanDaysAgo: 30 } });
  const [plain, vip] = [await world.person(), await world.person({ tags: ['vip'] })];
  await world.ctx.db.execute(
    sql`UPDATE subscriber SET created_at = '2022-05-15T12:00:00Z' WHERE customer_id = ${world.list.customerId}`,
  );
  const flow = await world.watch([
    { type: 'segment_entered', segmentUid: world.segmentUid, if: { tags: { hasAny: ['vip'] } } },
  ]);
  for (const at of ['2022-06-01T01:00', '2022-06-13T23:00', '2022-06-14T11:00']) await world.look(`${at}:00Z`);
  expect(await world.people(flow)).toEqual([]);
  await world.look('2022-06-14T13:00:00Z');
  await world.look('2022-06-14T14:00:00Z');
  expect(await world.people(flow)).toEqual([vip]);
  expect(await world.days(flow)).toEqual(['2022-06-14 entered 1 not_matching 1']);
  expect(await world.steps(plain)).toEqual([]);
});

test('a rule about time is judged again when an hour is over, not later', async () => {
  const world = await startWorld('2022-06-14T09:00:00Z', { createdAt: { moreThanDaysAgo: 30 } });
  const person = await world.person();
  await world.ctx.db.execute(sql`UPDATE subscriber SET created_at = '2022-05-15T12:00:00Z' WHERE id = ${person}`);
  const flow = await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]);
  for (const at of ['11:30', '12:29']) await world.look(`2022-06-14T${at}:00Z`);
  expect(await world.people(flow)).toEqual([]);
  await world.look('2022-06-14T12:31:00Z');
  expect(await world.people(flow)).toEqual([person]);
});

test('who is in the flow stays where they are when the segment is computed anew without them', async () => {
  const world = await startWorld();
  const nodes = [{ id: 'rest', type: 'wait', for: { hours: 2 } }];
  const flow = await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }], {
    ...{ nodes, edges: [{ from: 'start', to: 'rest' }] },
  });
  const person = await world.person({ fieldValues: { LEVEL: 'gold' } });
  await world.look('2022-06-01T00:01:00Z');
  await updateSegment(world.ctx, world.segmentUid, { rule: { field: { tag: 'LEVEL', text: { is: 'silver' } } } });
  await world.look('2022-06-01T00:02:00Z');
  await world.level(person, 'bronze');
  await world.look('2022-06-01T01:30:00Z');
  expect(await world.counts(flow)).toEqual({ rest: 'entered 1, waiting 1' });
  await world.run('2022-06-01T02:01:00Z');
  expect(await world.steps(person)).toEqual(['rest entered segment_entered', 'rest passed next']);
});

test('by events, people come in within the hour after they did it so often, and leave when it is too long ago', async () => {
  const world = await startWorld('2022-06-01T00:00:00Z', {
    all: [{ did: { event: 'order_placed', atLeast: 2, inLastDays: 10 } }, { didNot: { event: 'refunded' } }],
  });
  const { ctx, list, segmentUid } = world;
  const [twice, once, refunded] = [await world.person(), await world.person(), await world.person()];
  const happened = (personId: bigint, name: string, day: string) =>
    recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
      { personId, kind: 'event', name, at: new Date(`${day}T12:00:00Z`) },
    ]);
  for (const person of [twice, once, refunded]) await happened(person, 'order_placed', '2022-05-25');
  const came = await world.watch([{ type: 'segment_entered', segmentUid }]);
  const left = await world.watch([{ type: 'segment_left', segmentUid }]);
  await world.look('2022-06-01T01:10:00Z');
  await happened(twice, 'order_placed', '2022-06-02');
  await happened(refunded, 'order_placed', '2022-06-02');
  await happened(refunded, 'refunded', '2022-06-02');
  await world.look('2022-06-02T13:00:00Z');
  await world.look('2022-06-02T14:10:00Z');
  expect([await world.people(came), await world.people(left)]).toEqual([[twice], []]);
  await world.look('2022-06-04T13:10:00Z');
  await world.look('2022-06-04T14:20:00Z');
  expect([await world.people(came), await world.people(left)]).toEqual([[twice], [twice]]);
});

test('2,500 people come in at once, with a process that is killed at any statement: each enters once', async () => {
  const world = await startWorld();
  const { ctx, list } = world;
  await ctx.db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
        SELECT ${list.customerId}, ${list.id}, 'i' || n || '@x.example', 'i' || n || '@x.example', 'subscribed', jsonb_build_object('LEVEL', CASE WHEN n <= 500 THEN 'gold' ELSE '' END) FROM generate_series(1, 3000) n`,
  );
  const flow = await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]);
  await ctx.db.execute(sql`UPDATE subscriber SET fields = '{"LEVEL": "gold"}' WHERE customer_id = ${list.customerId}`);
  await world.setClock('2022-06-01T00:01:00Z');
  for (let diesAt = 1; ; diesAt++) {
    const mortal = mortalProcess(ctx, diesAt);
    await Promise.allSettled([world.look(undefined, mortal.ctx)]);
    if (!mortal.isDead()) break;
  }
  await Promise.all([world.look(), world.look()]);
  const entered = await world.people(flow);
  expect(entered.length).toBe(2_500);
  expect(new Set(entered).size).toBe(2_500);
});

test('a segment that a published flow begins by cannot be deleted, until the automation is gone', async () => {
  const world = await startWorld();
  const flow = await world.watch([{ type: 'segment_left', segmentUid: world.segmentUid }]);
  await expect(deleteSegment(world.ctx, world.segmentUid)).rejects.toMatchObject({ code: 'SEGMENT_IN_USE' });
  await deleteAutomation(world.ctx, flow.uid);
  expect(await deleteSegment(world.ctx, world.segmentUid)).toEqual({ uid: world.segmentUid });
});

test('a flow with a segment or field that the list does not have is not published', async () => {
  const [world, other] = [await startWorld(), await startWorld()];
  const fault = (code: string, field: string) => ({ node: null, field, code });
  const { uid } = await createAutomation(world.ctx, {
    listUid: world.list.uid,
    name: 'Flow',
    flow: {
      triggers: [
        { type: 'segment_entered', segmentUid: other.segmentUid },
        { type: 'date_field', field: 'LEVEL', at: '09:00' },
        { type: 'weekly', weekdays: [1], at: '09:00', if: { field: { tag: 'NONE', text: { is: 'x' } } } },
      ],
      ...ONE_NODE,
    },
  });
  await expect(publishAutomation(world.ctx, uid, 1)).rejects.toMatchObject({
    faults: [
      fault('unknown_segment', 'triggers.0.segmentUid'),
      fault('no_date_field', 'triggers.1.field'),
      fault('unknown_reference', 'triggers.2.if.field.tag'),
    ],
  });
});
