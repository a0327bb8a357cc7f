/** Who enters a flow and who does not: by a request, by what happened before, by an import, by other flows, by a new version (D70 to D73, D83, D84). */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { executeAutomation } from '../../../src/domain/automations/entries/execute-automation.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { updateAutomation } from '../../../src/domain/automations/update-automation.ts';
import { personTimeline } from '../../../src/domain/tracking/person-timeline.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { importFile } from '../../support/import-file.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
const HOUR_MS = 3_600_000;
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const rest = { id: 'rest', type: 'wait', for: { hours: 1 } };
const byTag = { triggers: [{ type: 'tag_added', tag: 'vip' }], nodes: [rest], edges: line('start', 'rest') };

async function whoIs(email: string): Promise<bigint> {
  const [found] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT id FROM subscriber WHERE customer_id = ${list.customerId} AND email = ${email}`,
  );
  if (!found) throw new Error(`${email} is not on the list.`);
  return found.id;
}

test('a request lets in also whom the filter of a trigger keeps out', async () => {
  const gold = { tags: { hasAny: ['gold'] } };
  const flow = await world.publish({ ...byTag, triggers: [{ type: 'tag_added', tag: 'vip', if: gold }] });
  const person = await world.person({ tags: ['vip'] });
  await world.follow();
  expect(await world.steps(person)).toEqual([]);
  expect(await executeAutomation(ctx, flow.uid, { subscriber: String(person) })).toEqual({ runId: expect.anything() });
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});

test('neither a draft nor publishing nor activating lets anybody in: only what happens afterwards does', async () => {
  const tagged = () => world.person({ tags: ['vip'] });
  const before = await tagged();
  const { uid } = await createAutomation(ctx, { listUid: list.uid, name: 'Flow', flow: byTag });
  const ofDraft = await tagged();
  await world.follow();
  await publishAutomation(ctx, uid, 1);
  const ofVersion = await tagged();
  await world.follow();
  await setAutomationStatus(ctx, uid, 'active');
  const afterwards = await tagged();
  await world.follow();
  expect(await Promise.all([before, ofDraft, ofVersion, afterwards].map(world.steps))).toEqual([
    ...[[], [], [], ['rest entered tag_added']],
  ]);
  await setAutomationStatus(ctx, uid, 'inactive');
});

test('an import lets people in only if that is asked for, a call unless it says no, and the timeline of the others says so', async () => {
  const flow = await world.publish({ ...byTag, triggers: [{ type: 'subscribed' }] });
  await importFile(ctx, list, 'email\nquiet@import.example\n');
  await importFile(ctx, list, 'email\nloud@import.example\n', { runAutomations: true });
  const [quiet, loud, single] = [
    await whoIs('quiet@import.example'),
    await whoIs('loud@import.example'),
    await world.person(),
  ];
  const moved = await world.person({ runAutomations: false });
  await world.follow();
  expect(await Promise.all([quiet, loud, single, moved].map(world.steps))).toEqual([
    ...[[], ['rest entered subscribed'], ['rest entered subscribed'], []],
  ]);
  const added = async (id: bigint) => {
    const page = { kinds: ['added'], after: undefined, limit: 10 } as const;
    const [entry] = await personTimeline(ctx, { customerId: list.customerId, listId: list.id, id }, page);
    return entry?.what;
  };
  for (const id of [quiet, moved]) expect(await added(id)).toMatchObject({ starts_flows: false });
  expect(await added(loud)).not.toHaveProperty('starts_flows');
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});

test('what flows cause lets people in five flows deep, and no deeper', async () => {
  const flow = await world.publish({ ...byTag, triggers: [{ type: 'event', name: 'caused' }] });
  const [deep, deeper] = [await world.person(), await world.person()];
  const caused = { kind: 'event', name: 'caused', at: new Date() } as const;
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { ...caused, personId: deep, depth: 5 },
    { ...caused, personId: deeper, depth: 6 },
  ]);
  await world.follow();
  expect(await world.steps(deep)).toEqual(['rest entered event']);
  expect(await world.steps(deeper)).toEqual([]);
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});

test('a new version: who is inside finishes on the one before, who has finished does not enter again, others enter the new one', async () => {
  const first = {
    triggers: [{ type: 'execute' }],
    nodes: [rest, { id: 'old', type: 'add_tag', tag: 'old' }],
    edges: line('start', 'rest', 'old'),
  };
  const flow = await world.publish(first);
  const [finished, inside, fresh] = [await world.person(), await world.person(), await world.person()];
  const begin = world.now().getTime();
  await world.enter(flow, [finished]);
  await world.run(new Date(begin + HOUR_MS).toISOString());
  await world.enter(flow, [inside]);
  await world.run(new Date(begin + 1.5 * HOUR_MS).toISOString());
  const second = {
    ...first,
    nodes: [
      { ...rest, for: { hours: 5 } },
      { id: 'old', type: 'add_tag', tag: 'new' },
    ],
  };
  await updateAutomation(ctx, flow.uid, { flow: second, draftVersion: 1 });
  const { number } = await publishAutomation(ctx, flow.uid, 2);
  const newest = { ...flow, key: { ...flow.key, version: number } };
  expect(await world.enter(newest, [finished, inside, fresh])).toEqual([
    ...[{ refused: 'entered_before' }, { refused: 'entered_before' }, { runId: expect.anything() }],
  ]);
  // The time that was waited before the change counts.
  await world.run(new Date(begin + 2 * HOUR_MS).toISOString());
  const tags = async (id: bigint) => (await world.personRow(id))?.tags;
  expect(await Promise.all([finished, inside, fresh].map(tags))).toEqual([['old'], ['old'], []]);
  await world.run(new Date(begin + 7 * HOUR_MS).toISOString());
  expect(await Promise.all([finished, inside, fresh].map(tags))).toEqual([['old'], ['old'], ['new']]);
  expect(await world.steps(inside)).toEqual(['rest entered execute', 'rest passed next', 'old passed next']);
  expect(await world.counts(flow)).toEqual({ rest: 'entered 2, passed 2', old: 'entered 2, passed 2' });
});

test('who has finished by a key does not enter again because a new version has no keys', async () => {
  const flow = { triggers: [{ type: 'execute' }], nodes: [{ id: 'stop', type: 'end' }], edges: line('start', 'stop') };
  const keyed = await world.publish({ ...flow, entry: { mode: 'per_key', key: 'cart' } });
  const person = await world.person();
  await world.enter(keyed, [person], { entryKey: 'a' });
  await world.run();
  await updateAutomation(ctx, keyed.uid, { flow, draftVersion: 1 });
  const { number } = await publishAutomation(ctx, keyed.uid, 2);
  const once = { ...keyed, key: { ...keyed.key, version: number } };
  expect(await world.enter(once, [person])).toEqual([{ refused: 'entered_before' }]);
});
