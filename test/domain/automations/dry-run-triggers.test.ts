/** Dry runs let people in where a trigger of the draft would have: by what was recorded of them, with filters, payloads and rules of entry. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { dryRunAutomation } from '../../../src/domain/automations/dry-run/dry-run-automation.ts';
import { DRY_STEPS_MAX } from '../../../src/domain/automations/dry-run/dry-world.ts';
import { FLOW_NODES_MAX } from '../../../src/domain/automations/flow/flow.ts';
import { recordPersonEvents, type NewPersonEvent } from '../../../src/events/person-event-store.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'date', label: 'Born', tag: 'BORN' });

/** Ten days ago, at noon of UTC. */
const from = new Date(
  `${new Date(Date.now() - 10 * 24 * HOUR_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)}T12:00:00Z`,
);
const hour = (hours: number) => new Date(from.getTime() + hours * HOUR_MS);

/** Somebody who came a year before. */
async function someone(changes: object = {}): Promise<bigint> {
  const id = await world.person(changes);
  await ctx.db.execute(
    sql`UPDATE hot.person_event SET at = at - interval '1 year', recorded_at = recorded_at - interval '1 year' WHERE customer_id = ${list.customerId} AND person_id = ${id}`,
  );
  return id;
}

/** Recorded when it happened. */
async function happened(
  personId: bigint,
  hours: number,
  event: Omit<NewPersonEvent, 'personId' | 'at'>,
): Promise<void> {
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { personId, at: hour(hours), ...event },
  ]);
  await ctx.db.execute(
    sql`UPDATE hot.person_event SET recorded_at = at WHERE customer_id = ${list.customerId} AND person_id = ${personId} AND at >= ${hour(-24)}`,
  );
}
const placed = (personId: bigint, hours: number, data: object = {}, more: object = {}) =>
  happened(personId, hours, { kind: 'event', name: 'order_placed', data: { ...data }, ...more });

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const draft = async (flow: object) => (await createAutomation(ctx, { listUid: list.uid, name: 'Draft', flow })).uid;
const REST = { nodes: [{ id: 'rest', type: 'wait', for: { hours: 3 } }], edges: line('start', 'rest') };
const ORDER = { type: 'event', name: 'order_placed' };

/** Each path: hours from the beginning, trigger, refusal or the steps. */
async function pathsOf(uid: string, personId: bigint): Promise<string[]> {
  const { paths } = await dryRunAutomation(ctx, uid, { subscriber: subscriberUid(personId), from });
  const hours = (at: Date) => (at.getTime() - from.getTime()) / HOUR_MS;
  return paths.map(({ enteredAt, trigger, refused, steps }) =>
    [
      ...[hours(enteredAt), trigger],
      ...(refused === null
        ? steps.map(({ node, at, port, reason }) => `${node}:${port ?? reason}@${hours(at)}`)
        : [refused]),
    ].join(' '),
  );
}

test('by an event from outside with its filter, its payload and its key', async () => {
  const uid = await draft({
    triggers: [{ ...ORDER, where: [{ path: 'total', number: { gte: 10 } }] }],
    entry: { mode: 'per_key', key: 'key' },
    nodes: [
      { id: 'large', type: 'condition', if: { payload: { path: 'total', number: { gte: 50 } } } },
      {
        id: 'paid',
        type: 'wait_for_event',
        event: { type: 'event', name: 'order_paid', sameKey: true },
        for: { hours: 10 },
      },
    ],
    edges: [...line('start', 'large'), { from: 'large', port: 'yes', to: 'paid' }],
  });
  const person = await someone();
  await placed(person, 1, { total: 5, key: 'a' });
  await placed(person, 2, { total: 20, key: 'a' });
  await placed(person, 3, { total: 60, key: 'a' });
  await placed(person, 4, { total: 60, key: 'b' });
  await placed(person, 5, { total: 60 });
  await happened(person, 6, { kind: 'event', name: 'order_paid', data: { key: 'a' } });
  await happened(person, 7, { kind: 'event', name: 'order_paid', data: { key: 'b' } });
  // Before it began, and one that starts no flows.
  await placed(person, -2, { total: 60, key: 'c' });
  await placed(person, 8, { total: 60, key: 'd' }, { startsFlows: false });
  expect(await pathsOf(uid, person)).toEqual([
    '2 event large:no@2',
    '3 event key_entered',
    '4 event large:yes@4 paid:next@7',
    '5 event no_key',
  ]);
  const { counts, people, leftOut, isCut } = await dryRunAutomation(ctx, uid, {
    subscriber: subscriberUid(person),
    from,
  });
  expect([people, leftOut, isCut]).toEqual([1, [], false]);
  expect(Object.fromEntries(counts)).toMatchObject({ large: { passed: 2 }, paid: { passed: 1 } });
  expect(await pathsOf(uid, await someone())).toEqual([]);
  expect(await queryRows(ctx.db, sql`SELECT 1 FROM hot.flow_entry WHERE customer_id = ${list.customerId}`)).toEqual([]);
});

test.each([
  [{ mode: 'once' }, ['enters', 'entered_before', 'entered_before', 'entered_before']],
  [{ mode: 'after_days', days: 1 }, ['enters', 'too_soon', 'too_soon', 'enters']],
  [{ mode: 'after_end' }, ['enters', 'in_flow', 'enters', 'enters']],
])('by the rule of entry %j', async (entry, expected) => {
  const uid = await draft({ triggers: [ORDER], entry, ...REST });
  const person = await someone();
  for (const hours of [1, 2, 5, 25]) await placed(person, hours);
  const shown = await pathsOf(uid, person);
  expect(shown.map((path) => (path.includes('rest:next') ? 'enters' : path.split(' ')[2]))).toEqual(expected);
});

test('by the first trigger whose filter the person passes at that time', async () => {
  const ordered = (times: number) => ({ did: { event: 'order_placed', atLeast: times, inLastDays: 1 } });
  const uid = await draft({
    triggers: [
      { type: 'tag_added', tag: 'vip', if: { tags: { hasAny: ['vip'] } } },
      { ...ORDER, if: ordered(2) },
      { type: 'event', name: 'order_placed', if: { tags: { hasAny: ['press'] } } },
    ],
    entry: { mode: 'after_end' },
    ...REST,
  });
  const [plain, press] = [await someone(), await someone({ tags: ['press'] })];
  for (const person of [plain, press]) {
    await happened(person, 1, { kind: 'tagged', data: { tags: ['VIP'] } });
    await placed(person, 10);
    await placed(person, 20);
    await placed(person, 90);
  }
  expect(await pathsOf(uid, plain)).toEqual(['20 event rest:next@23']);
  expect(await pathsOf(uid, press)).toEqual([
    '10 event rest:next@13',
    '20 event rest:next@23',
    '90 event rest:next@93',
  ]);
});

test('what brings a person in counts for the filter and for conditions, to the microsecond', async () => {
  const again = { did: { kind: 'tagged', tag: 'again', atLeast: 2 } };
  const uid = await draft({
    triggers: [{ type: 'tag_added', tag: 'again', if: again }],
    nodes: [{ id: 'twice', type: 'condition', if: { person: again } }],
    edges: line('start', 'twice'),
  });
  const person = await someone();
  for (const hours of [1, 2]) await happened(person, hours, { kind: 'tagged', data: { tags: ['again'] } });
  await ctx.db.execute(
    sql`UPDATE hot.person_event SET at = at + interval '456 microseconds', recorded_at = at + interval '456 microseconds' WHERE customer_id = ${list.customerId} AND person_id = ${person} AND at >= ${from}`,
  );
  expect(await pathsOf(uid, person)).toEqual(['2 tag_added twice:yes@2']);
});

test('by dates and timetables, of who was on the list by then; others are left out and named', async () => {
  const { uid: segmentUid } = await createSegment(ctx, {
    ...{ listUid: list.uid, name: 'All', rule: { email: { contains: '@' } } },
  });
  const day = hour(48).toISOString().slice(0, 'YYYY-MM-DD'.length);
  const uid = await draft({
    triggers: [
      { type: 'date_field', field: 'BORN', at: '09:00', yearly: true },
      { type: 'specific_date', date: day, at: '18:00' },
      { type: 'segment_entered', segmentUid },
      { type: 'campaign_opened' },
      { type: 'execute' },
    ],
    entry: { mode: 'after_end' },
    ...REST,
  });
  await ctx.db.execute(sql`UPDATE mail_list SET timezone = 'UTC' WHERE id = ${list.id}`);
  const born = await someone({ fieldValues: { BORN: `1992${day.slice('YYYY'.length)}` } });
  const fresh = await world.person({ fieldValues: { BORN: `1992${day.slice('YYYY'.length)}` } });
  expect(await pathsOf(uid, born)).toEqual(['45 date_field rest:next@48', '54 specific_date rest:next@57']);
  expect(await pathsOf(uid, fresh)).toEqual([]);
  const { leftOut, people } = await dryRunAutomation(ctx, uid, { subscriber: subscriberUid(born), from });
  expect([leftOut, people]).toEqual([['segment_entered', 'campaign_opened'], 1]);
});

test('who had left does not come in, and who leaves begins a flow for that', async () => {
  const byOrder = await draft({ triggers: [ORDER], ...REST });
  const byLeaving = await draft({ triggers: [{ type: 'unsubscribed' }], ...REST });
  const [left, leaves] = [await someone(), await someone()];
  await placed(left, 5);
  await placed(leaves, 5);
  await happened(leaves, 6, { kind: 'unsubscribed' });
  await ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SELECT set_config('mailwright.person_events', 'off', true)`);
    await tx.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ANY (${[left, leaves]}::bigint[])`);
  });
  expect(await pathsOf(byOrder, left)).toEqual(['5 event not_subscribed']);
  expect(await pathsOf(byOrder, leaves)).toEqual(['5 event rest:unsubscribed@6']);
  expect(await pathsOf(byLeaving, leaves)).toEqual(['6 unsubscribed rest:next@9']);
  expect(await pathsOf(byLeaving, left)).toEqual([]);
});

test('of one person 20 entries are shown', async () => {
  const uid = await draft({ triggers: [ORDER], entry: { mode: 'after_end' }, ...REST });
  const person = await someone();
  const events = Array.from({ length: 30 }, (_, no) => ({
    ...{
      personId: person,
      kind: 'event' as const,
      name: 'order_placed',
      at: hour(no * 4 + 1),
      depth: no === 0 ? 6 : 0,
    },
  }));
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, events);
  await ctx.db.execute(
    sql`UPDATE hot.person_event SET recorded_at = at WHERE customer_id = ${list.customerId} AND person_id = ${person} AND at >= ${from}`,
  );
  const { paths, isCut } = await dryRunAutomation(ctx, uid, { subscriber: subscriberUid(person), from });
  expect([paths.length, paths[0]?.refused, paths[1]?.refused, isCut]).toEqual([20, 'too_deep', null, true]);
});

test('more events than are looked at are said to be cut off, also when the filter lets none of the first in', async () => {
  const ordered = { did: { event: 'order_placed', atLeast: 24 } };
  const uid = await draft({ triggers: [{ ...ORDER, if: ordered }], entry: { mode: 'after_end' }, ...REST });
  const person = await someone();
  const run = async () => {
    const { paths, isCut } = await dryRunAutomation(ctx, uid, { subscriber: subscriberUid(person), from });
    return [paths.length, isCut];
  };
  for (let no = 1; no <= 20; no++) await placed(person, no);
  expect(await run()).toEqual([0, false]);
  for (let no = 21; no <= 25; no++) await placed(person, no);
  expect(await run()).toEqual([0, true]);
});

test('a run of too many steps is cut off, and says so', async () => {
  const people = 80;
  for (let no = 0; no < people; no++) await someone({ tags: ['many'] });
  const rule = { tags: { hasAny: ['many'] } };
  const { uid: segmentUid } = await createSegment(ctx, { listUid: list.uid, name: 'Many', rule });
  const ids = Array.from({ length: FLOW_NODES_MAX }, (_, no) => `tag_${no}`);
  const uid = await draft({
    triggers: [{ type: 'execute' }],
    nodes: ids.map((id) => ({ id, type: 'add_tag', tag: 'seen' })),
    edges: line('start', ...ids),
  });
  const { paths, isCut } = await dryRunAutomation(ctx, uid, { segmentUid, from, withoutTriggers: true });
  expect([paths.length, isCut]).toEqual([people, true]);
  expect(paths.filter(({ steps }) => steps.at(-1)?.what === 'stopped')).toHaveLength(people);
  const steps = paths.reduce((sum, path) => sum + path.steps.length, 0);
  expect(steps).toBeLessThanOrEqual(DRY_STEPS_MAX + people);
});
