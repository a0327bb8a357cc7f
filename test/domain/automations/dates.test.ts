/** Dates and timetables bring people into flows: each slot once for each person, in their zone, whatever happens to people and processes. */
import { expect, test } from 'vitest';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { deleteSubscriber } from '../../../src/domain/audience/delete-subscriber.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { deleteAutomation } from '../../../src/domain/automations/delete-automation.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { updateAutomation } from '../../../src/domain/automations/update-automation.ts';
import { delayTrigger } from '../../../src/domain/automations/triggers/trigger-store.ts';
import { sql } from '../../../src/db/database.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { createTestContext } from '../../support/test-context.ts';
import { startTriggerWorld } from '../../support/trigger-world.ts';

const context = await createTestContext();

const ONE_NODE = { nodes: [{ id: 'stop', type: 'end' }], edges: [{ from: 'start', to: 'stop' }] };
const BIRTHDAY = { type: 'date_field', field: 'BORN', yearly: true, at: '09:00' };

/** A list with a birthday, a place and a zone for each person; the list's own zone is Vienna. */
async function startWorld(beginsAt: string) {
  const world = await startTriggerWorld(beginsAt, context);
  const { ctx, list } = world;
  await addListField(ctx, list.uid, { type: 'date', label: 'Born', tag: 'BORN' });
  await addListField(ctx, list.uid, { type: 'text', label: 'Zone', tag: 'TZ' });
  await updateList(ctx, list.uid, { timezone: 'Europe/Vienna', timezoneTag: 'TZ' });
  const change = (id: bigint, fieldValues: Record<string, string>) =>
    updateSubscriber(ctx, { subscriber: subscriberUid(id), fieldValues });
  const times = async (flow: Parameters<typeof world.entries>[0]) =>
    (await world.entries(flow)).map(({ personId, at }) => `${personId} ${at.toISOString().slice(0, 16)}`);
  return { ...world, change, times };
}

test('each person enters at the local time of the birthday, and again a year later', async () => {
  const world = await startWorld('2022-11-01T00:00:00Z');
  const born = (BORN: string, TZ = '') => world.person({ fieldValues: { BORN, TZ } });
  const [vienna, york, kathmandu] = [
    await born('1990-11-05'),
    await born('1991-11-05', 'America/New_York'),
    await born('1992-11-05', 'Asia/Kathmandu'),
  ];
  await born('', 'Europe/Vienna');
  const flow = await world.watch([BIRTHDAY]);
  expect(await world.look('2022-11-01T00:01:00Z')).toBeGreaterThan(0);
  expect(await world.look()).toBe(0);
  for (const at of [
    '2022-11-05T03:14',
    '2022-11-05T03:15',
    '2022-11-05T07:59',
    '2022-11-05T08:00',
    '2022-11-05T12:59',
    '2022-11-05T13:00',
  ])
    await world.look(`${at}:00Z`);
  const first = [`${kathmandu} 2022-11-05T03:15`, `${vienna} 2022-11-05T08:00`, `${york} 2022-11-05T13:00`];
  expect(await world.times(flow)).toEqual(first);
  await world.run('2022-11-05T15:00:00Z');
  for (const at of ['2022-11-06T14:00', '2023-11-05T03:15', '2023-11-05T08:00', '2023-11-05T14:00'])
    await world.look(`${at}:00Z`);
  expect((await world.times(flow)).slice(3)).toEqual(
    first.map((one) => one.replace('2022', '2023').replace('13:00', '14:00')),
  );
  expect(await world.days(flow)).toEqual(['2022-11-05 entered 3', '2023-11-05 entered 3']);
});

test('a changed date or zone moves the time; who comes later is planned too; who is gone is forgotten', async () => {
  const world = await startWorld('2022-03-01T00:00:00Z');
  const flow = await world.watch([{ type: 'date_field', field: 'BORN', before: { days: 1 }, at: '10:00' }]);
  await world.look('2022-03-01T00:00:00Z');
  const [moved, zoned, gone, cleared] = [
    await world.person(),
    await world.person(),
    await world.person(),
    await world.person(),
  ];
  for (const id of [moved, zoned, gone, cleared]) await world.change(id, { BORN: '2022-03-12' });
  await world.look('2022-03-02T00:00:00Z');
  await world.change(moved, { BORN: '2022-03-20' });
  await world.change(zoned, { TZ: 'America/New_York' });
  await world.change(cleared, { BORN: '' });
  await deleteSubscriber(world.ctx, { subscriber: subscriberUid(gone) });
  await world.look('2022-03-11T09:00:00Z');
  expect(await world.times(flow)).toEqual([]);
  await world.look('2022-03-11T15:00:00Z');
  await world.look('2022-03-19T09:00:00Z');
  expect(await world.times(flow)).toEqual([`${zoned} 2022-03-11T15:00`, `${moved} 2022-03-19T09:00`]);
  // Another zone of the whole list: whoever is planned moves with it.
  const late = await world.person({ fieldValues: { BORN: '2022-04-10' } });
  await world.look('2022-03-20T00:00:00Z');
  await updateList(world.ctx, world.list.uid, { timezone: 'Asia/Kathmandu' });
  await world.look('2022-03-21T00:00:00Z');
  await world.look('2022-04-09T04:15:00Z');
  expect((await world.times(flow)).slice(2)).toEqual([`${late} 2022-04-09T04:15`]);
});

test('a timetable goes by the clock of the customer where neither the person nor the list has one', async () => {
  const world = await startTriggerWorld('2022-05-01T00:01:00Z', context);
  await world.ctx.db.execute(sql`UPDATE customer SET timezone = 'Asia/Tokyo' WHERE id = ${world.list.customerId}`);
  const flow = await world.watch([{ type: 'weekly', weekdays: [1], at: '09:00' }]);
  const person = await world.person();
  for (const at of ['00:01', '23:59']) await world.look(`2022-05-01T${at}:00Z`);
  expect(await world.entries(flow)).toEqual([]);
  await world.look('2022-05-02T00:00:00Z');
  expect(await world.entries(flow)).toMatchObject([{ personId: person, at: new Date('2022-05-02T00:00:00Z') }]);
});

test('a day fires once for a person who moves to a zone where it is yet to come', async () => {
  const world = await startWorld('2022-03-01T00:00:00Z');
  const flow = await world.watch([{ type: 'weekly', weekdays: [6], at: '09:00' }]);
  const person = await world.person();
  await world.look('2022-03-01T00:01:00Z');
  await world.look('2022-03-05T08:00:00Z');
  await world.run('2022-03-05T08:00:00Z');
  await world.change(person, { TZ: 'America/New_York' });
  await world.look('2022-03-05T08:01:00Z');
  await world.look('2022-03-05T14:00:00Z');
  await world.look('2022-03-12T14:00:00Z');
  expect(await world.times(flow)).toEqual([`${person} 2022-03-05T08:00`, `${person} 2022-03-12T14:00`]);
});

test('after an outage what is at most a day late is done, and the rest is counted as late', async () => {
  const world = await startWorld('2022-05-01T00:00:00Z');
  const daily = { type: 'weekly', weekdays: [1, 2, 3, 4, 5, 6, 7], at: '09:00' };
  const [flow, other] = [
    await world.watch([daily]),
    await world.watch([{ type: 'specific_date', date: '2022-05-02', at: '09:00' }]),
  ];
  const person = await world.person();
  await world.look('2022-05-01T00:01:00Z');
  await world.look('2022-05-04T12:00:00Z');
  expect(await world.times(flow)).toEqual([`${person} 2022-05-04T12:00`]);
  expect(await world.days(flow)).toEqual([
    ...['2022-05-01 late 1', '2022-05-02 late 1', '2022-05-03 late 1', '2022-05-04 entered 1'],
  ]);
  expect(await world.days(other)).toEqual(['2022-05-02 late 1']);
});

test('only those enter to whom `if` applies then, and the rules of entry are kept', async () => {
  const world = await startWorld('2022-05-01T00:00:00Z');
  const flow = await world.watch([{ type: 'monthly', day: 31, at: '09:00', if: { tags: { hasAny: ['vip'] } } }], {
    entry: { mode: 'once' },
  });
  const [vip, other] = [await world.person(), await world.person({ tags: ['vip'] })];
  await world.look('2022-05-01T00:01:00Z');
  await world.ctx.db.execute(
    sql`UPDATE subscriber SET tags = CASE WHEN id = ${vip} THEN '{vip}'::text[] ELSE '{}' END WHERE customer_id = ${world.list.customerId}`,
  );
  await world.look('2022-05-31T07:00:00Z');
  await world.look('2022-06-30T07:00:00Z');
  expect(await world.times(flow)).toEqual([`${vip} 2022-05-31T07:00`]);
  expect(await world.days(flow)).toEqual([
    '2022-05-31 entered 1 not_matching 1',
    '2022-06-30 refused 1 not_matching 1',
  ]);
  expect(await world.steps(other)).toEqual([]);
});

test('what was to come while the automation was not active does not; a new version fires nothing again', async () => {
  const world = await startWorld('2022-05-01T00:00:00Z');
  const daily = { type: 'weekly', weekdays: [1, 2, 3, 4, 5, 6, 7], at: '09:00' };
  const flow = await world.watch([daily]);
  const person = await world.person();
  await world.look('2022-05-01T06:00:00Z');
  await setAutomationStatus(world.ctx, flow.uid, 'inactive');
  expect(await world.look('2022-05-01T07:00:00Z')).toBe(0);
  await setAutomationStatus(world.ctx, flow.uid, 'active');
  await world.look('2022-05-01T07:01:00Z');
  expect(await world.times(flow)).toEqual([]);
  await world.look('2022-05-02T07:00:00Z');
  await world.run('2022-05-02T07:00:00Z');
  // The same day again, but for those with a tag: it has fired.
  await updateAutomation(world.ctx, flow.uid, {
    flow: {
      triggers: [
        { ...daily, if: { tags: { hasNone: ['x'] } } },
        { ...daily, at: '18:00' },
      ],
      entry: { mode: 'after_end' },
      ...ONE_NODE,
    },
    draftVersion: 1,
  });
  await publishAutomation(world.ctx, flow.uid, 2);
  await world.look('2022-05-02T07:01:00Z');
  await world.look('2022-05-02T16:00:00Z');
  expect(await world.times(flow)).toEqual([`${person} 2022-05-02T07:00`, `${person} 2022-05-02T16:00`]);
  await deleteAutomation(world.ctx, flow.uid);
  await world.look('2022-05-02T16:01:00Z');
  const left = await queryRows(
    world.ctx.db,
    sql`SELECT 1 FROM hot.flow_trigger WHERE customer_id = ${world.list.customerId}
        UNION ALL SELECT 1 FROM hot.flow_trigger_person WHERE customer_id = ${world.list.customerId}
        UNION ALL SELECT 1 FROM hot.flow_slot WHERE customer_id = ${world.list.customerId}`,
  );
  expect(left).toEqual([]);
});

test('a process that is killed at any statement, and two at once: each of 60 people enters once', async () => {
  const world = await startWorld('2022-05-01T00:00:00Z');
  const flow = await worldOfMany(world, 60);
  let kills = 0;
  for (let diesAt = 1; ; diesAt++) {
    const mortal = mortalProcess(world.ctx, diesAt);
    await Promise.allSettled([world.look(undefined, mortal.ctx)]);
    if (!mortal.isDead()) break;
    kills += 1;
  }
  expect(kills).toBeGreaterThan(15);
  await Promise.all([world.look(), world.look()]);
  expect((await world.entries(flow)).length).toBe(60);
  expect(new Set((await world.entries(flow)).map(({ personId }) => personId)).size).toBe(60);
  expect(await world.days(flow)).toEqual(['2022-05-02 entered 60']);
});

test('5,000 people enter once each, by two processes at once', async () => {
  const world = await startWorld('2022-05-01T00:00:00Z');
  const flow = await worldOfMany(world, 5_000);
  await Promise.all([world.look(), world.look()]);
  await world.look();
  expect(new Set((await world.entries(flow)).map(({ personId }) => personId)).size).toBe(5_000);
  expect(await world.days(flow)).toEqual(['2022-05-02 entered 5000']);
  expect(await world.counts(flow)).toEqual({ stop: 'entered 5000, waiting 5000' });
});

/** So many people in two zones, a Monday at nine that has come in both, and nobody who has looked. */
async function worldOfMany(world: Awaited<ReturnType<typeof startWorld>>, people: number) {
  const { ctx, list } = world;
  const flow = await world.watch([{ type: 'weekly', weekdays: [1], at: '09:00' }], { entry: { mode: 'once' } });
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
    SELECT ${list.customerId}, ${list.id}, 'm' || n || '@x.example', 'm' || n || '@x.example', 'subscribed',
           jsonb_build_object('TZ', CASE n % 2 WHEN 0 THEN 'Asia/Kathmandu' ELSE '' END)
      FROM generate_series(1, ${people}::int) n`);
  await world.setClock('2022-05-02T12:00:00Z');
  return flow;
}

test('a trigger that fails is put off, and keeps its slot', async () => {
  const world = await startWorld('2022-11-01T00:00:00Z');
  await world.publish({ ...ONE_NODE, triggers: [BIRTHDAY] });
  const triggersOf = () =>
    queryRows<{ automationId: bigint; id: bigint; retryAt: Date | null }>(
      world.ctx.db,
      sql`SELECT automation_id AS "automationId", id, retry_at AS "retryAt" FROM hot.flow_trigger WHERE customer_id = ${world.list.customerId}`,
    );
  const [before] = await triggersOf();
  const until = new Date('2022-11-01T00:10:00Z');
  const { automationId = 0n, id = 0n } = before ?? {};
  await delayTrigger(world.ctx.db, { customerId: world.list.customerId, automationId, id }, until);
  expect(await triggersOf()).toMatchObject([{ ...before, retryAt: until }]);
});
