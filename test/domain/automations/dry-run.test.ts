/** Dry runs: a draft over what has really happened, by a virtual clock, and nothing is sent or changed. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { dryRunAutomation } from '../../../src/domain/automations/dry-run/dry-run-automation.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });

/** So many hours after the people were let in, ten days ago. */
const from = new Date(Date.now() - 10 * 24 * HOUR_MS);
const hour = (hours: number) => new Date(from.getTime() + hours * HOUR_MS);

const draft = async (flow: object) => (await createAutomation(ctx, { listUid: list.uid, name: 'Draft', flow })).uid;
const happened = (personId: bigint, name: string, hours: number, data: object = {}) =>
  recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { personId, kind: 'event', name, at: hour(hours), data: { ...data } },
  ]);
const pathOf = async (uid: string, personId: bigint) => {
  const { paths } = await dryRunAutomation(ctx, uid, {
    ...{ subscriber: subscriberUid(personId), from, withoutTriggers: true },
  });
  return paths[0]?.steps.map(({ node, at, what, port, reason }) =>
    [node, (at.getTime() - from.getTime()) / HOUR_MS, what, port, reason].filter((one) => one !== null).join(' '),
  );
};
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const paid = { type: 'event', name: 'order_paid' };

const FLOW = {
  triggers: [{ type: 'subscribed' }],
  nodes: [
    { id: 'rest', type: 'wait', for: { hours: 2 } },
    { id: 'tag', type: 'add_tag', tag: 'seen' },
    { id: 'level', type: 'set_field', field: 'LEVEL', value: 'gold' },
    { id: 'pays', type: 'wait_for_event', event: paid, for: { hours: 24 } },
    { id: 'gold', type: 'condition', if: { person: { field: { tag: 'LEVEL', text: { is: 'silver' } } } } },
    { id: 'late', type: 'unsubscribe' },
    { id: 'rest_2', type: 'wait', for: { hours: 1 } },
  ],
  edges: [
    ...line('start', 'rest', 'tag', 'level', 'pays', 'gold'),
    { from: 'pays', port: 'timeout', to: 'late' },
    ...line('late', 'rest_2'),
  ],
  exits: [{ id: 'refunded', event: { type: 'event', name: 'refunded' } }],
};

test('people go the way that their history has for them, each step with its time and reason', async () => {
  const uid = await draft(FLOW);
  const [pays, nothing] = [await world.person({ fieldValues: { LEVEL: 'silver' } }), await world.person()];
  const [leaves, exits] = [await world.person(), await world.person()];
  await happened(pays, 'order_paid', 1);
  await happened(pays, 'order_paid', 5);
  await happened(exits, 'refunded', 3);
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { personId: leaves, kind: 'unsubscribed', at: hour(1.5) },
  ]);
  const before = ['rest 2 passed next', 'tag 2 passed next', 'level 2 passed next'];
  expect(await pathOf(uid, pays)).toEqual([...before, 'pays 5 passed next event', 'gold 5 passed yes']);
  expect(await pathOf(uid, nothing)).toEqual([
    ...[...before, 'pays 26 passed timeout', 'late 26 passed next', 'rest_2 27 passed next'],
  ]);
  expect(await pathOf(uid, leaves)).toEqual(['rest 1.5 left unsubscribed']);
  expect(await pathOf(uid, exits)).toEqual([...before, 'pays 3 left exit:refunded']);
  const { counts, paths, draftVersion } = await dryRunAutomation(ctx, uid, {
    ...{ segmentUid: await everybody(), from, withoutTriggers: true },
  });
  expect([draftVersion, paths.length]).toEqual([1, 4]);
  expect(Object.fromEntries(counts)).toMatchObject({
    rest: { passed: 3, left: 1 },
    pays: { passed: 2, left: 1, waits: 0 },
    rest_2: { passed: 1 },
  });
});

async function everybody(): Promise<string> {
  const rule = { email: { contains: '@' } };
  return (await createSegment(ctx, { listUid: list.uid, name: 'Everybody', rule })).uid;
}

test('nothing is written, whatever the flow does', async () => {
  const person = await world.person();
  const uid = await draft(FLOW);
  const before = await world.personRow(person);
  await pathOf(uid, person);
  expect(await world.personRow(person)).toEqual(before);
  expect(await world.leftOf(person)).toEqual([]);
  expect(await queryRows(ctx.db, sql`SELECT 1 FROM hot.flow_run`)).toEqual([]);
});

test('a wait that the clock does not reach the end of is shown as one', async () => {
  const uid = await draft({
    ...{ triggers: [{ type: 'execute' }], edges: line('start', 'long', 'call') },
    nodes: [
      { id: 'long', type: 'wait', for: { days: 400 } },
      { id: 'call', type: 'api_call' },
    ],
  });
  const [step] = (await pathOf(uid, await world.person())) ?? [];
  expect(step).toBe(`long ${366 * 24} waits`);
});

test('what cannot be run says why', async () => {
  const uid = await draft(FLOW);
  const one = subscriberUid(await world.person());
  const run = (given: object, of = uid) => dryRunAutomation(ctx, of, given);
  await expect(run({})).rejects.toMatchObject({ fields: { subscriber: ['Name either a subscriber or a segment.'] } });
  const future = new Date(Date.now() + HOUR_MS);
  await expect(run({ subscriber: one, from: future })).rejects.toMatchObject({ fields: { from: expect.anything() } });
  const old = new Date(Date.now() - 400 * 24 * HOUR_MS);
  await expect(run({ subscriber: one, from: old })).rejects.toMatchObject({ fields: { from: expect.anything() } });
  await expect(run({ subscriber: one }, await draft({}))).rejects.toMatchObject({ code: 'FLOW_HAS_FAULTS' });
});

test('of one customer they run one after the other, and too many at once are refused', async () => {
  const uid = await draft(FLOW);
  const one = subscriberUid(await world.person());
  const results = await Promise.allSettled(
    Array.from({ length: 12 }, () => dryRunAutomation(ctx, uid, { subscriber: one, from, withoutTriggers: true })),
  );
  const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
  // One runs and five wait; one that has ended before the last comes leaves its place to another.
  expect([...new Set(refusals)]).toEqual(['TOO_MANY_DRY_RUNS']);
  expect(refusals.length).toBeLessThanOrEqual(6);
  expect((await dryRunAutomation(ctx, uid, { subscriber: one, from, withoutTriggers: true })).paths).toHaveLength(1);
});
