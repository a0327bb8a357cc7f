/** Automations as their owner handles them: draft, publication, states, requests to let a person in, limits, other customers. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { executeAutomation } from '../../../src/domain/automations/entries/execute-automation.ts';
import { findOwnedAutomation } from '../../../src/domain/automations/find-owned-automation.ts';
import { KeptFlows } from '../../../src/domain/automations/runs/kept-flows.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { deleteAutomation, eraseGone } from '../../../src/domain/automations/delete-automation.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { updateAutomation } from '../../../src/domain/automations/update-automation.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { createTenant } from '../../support/tenant.ts';

const world = await startFlowWorld();
const { ctx, list } = world;
const stranger = await createTenant({ ...ctx, viewer: null });

const wait = { id: 'rest', type: 'wait', for: { hours: 1 } };
const flow = { triggers: [{ type: 'execute' }], nodes: [wait], edges: [{ from: 'start', to: 'rest' }] };

const make = async (draft: unknown = flow, name = 'Welcome') =>
  (await createAutomation(ctx, { listUid: list.uid, name, flow: draft })).uid;
const active = async (draft: unknown = flow) => {
  const uid = await make(draft);
  await publishAutomation(ctx, uid, 1);
  await setAutomationStatus(ctx, uid, 'active');
  return uid;
};

test('a draft may have faults, and is published only without them', async () => {
  const uid = await make({ triggers: [], nodes: [] });
  await expect(publishAutomation(ctx, uid, 1)).rejects.toMatchObject({
    code: 'FLOW_HAS_FAULTS',
    faults: [{ code: 'invalid', field: 'edges' }],
  });
  const empty = await make({ triggers: [], nodes: [], edges: [] });
  await expect(publishAutomation(ctx, empty, 1)).rejects.toMatchObject({
    faults: [
      { code: 'no_trigger', field: 'triggers' },
      { code: 'no_node', field: 'nodes' },
    ],
  });
  await expect(setAutomationStatus(ctx, uid, 'active')).rejects.toMatchObject({ code: 'AUTOMATION_NOT_PUBLISHED' });
  await updateAutomation(ctx, uid, { flow, draftVersion: 1, name: 'Hello' });
  expect(await publishAutomation(ctx, uid, 2)).toEqual({
    number: 1,
    warnings: [expect.objectContaining({ code: 'nothing_follows' })],
  });
  expect(await findOwnedAutomation(ctx, uid)).toMatchObject({
    name: 'Hello',
    draftVersion: 2,
    liveVersion: 1,
    status: 'inactive',
  });
});

test('two who edit the same draft do not overwrite each other', async () => {
  const uid = await make();
  await updateAutomation(ctx, uid, { flow, draftVersion: 1 });
  await expect(updateAutomation(ctx, uid, { flow, draftVersion: 1 })).rejects.toMatchObject({
    code: 'AUTOMATION_CHANGED',
  });
  await expect(updateAutomation(ctx, uid, { flow })).rejects.toMatchObject({
    fields: { draftVersion: [expect.any(String)] },
  });
  await expect(publishAutomation(ctx, uid, 1)).rejects.toMatchObject({ code: 'AUTOMATION_CHANGED' });
});

test('what a flow refers to must exist on its list, and take the value', async () => {
  const nodes = [
    { id: 'field', type: 'set_field', field: 'NOPE', value: 'x' },
    { id: 'date', type: 'wait_until', field: 'FIRST_NAME', at: '09:00' },
    { id: 'rule', type: 'condition', if: { person: { field: { tag: 'NOPE', text: { is: 'x' } } } } },
  ];
  const edges = [
    { from: 'start', to: 'field' },
    { from: 'field', to: 'date' },
    { from: 'date', to: 'rule' },
  ];
  await expect(publishAutomation(ctx, await make({ ...flow, nodes, edges }), 1)).rejects.toMatchObject({
    faults: [
      { node: 'field', field: 'field', code: 'unknown_field' },
      { node: 'date', field: 'field', code: 'no_date_field' },
      { node: 'rule', field: 'if.person.field.tag', code: 'unknown_reference' },
    ],
  });
});

test('a rule of a goal names what the list has', async () => {
  const goals = [{ id: 'goal', person: { field: { tag: 'NONE', text: { is: 'x' } } } }];
  await expect(publishAutomation(ctx, await make({ ...flow, goals }), 1)).rejects.toMatchObject({
    faults: [{ node: 'goal', field: 'person.field.tag', code: 'unknown_reference' }],
  });
});

test.each(['\0', '\ud800'])('what the database does not take as JSON is refused: %j', async (text) => {
  await expect(make({ layout: { [text]: 1 } })).rejects.toMatchObject({ fields: { flow: [expect.any(String)] } });
  const uid = await active();
  const person = String(await world.person());
  const answer = executeAutomation(ctx, uid, { subscriber: person, payload: { a: [text] } });
  await expect(answer).rejects.toMatchObject({ fields: { payload: [expect.any(String)] } });
  expect(await executeAutomation(ctx, uid, { subscriber: person, payload: { a: String.raw`\u0000` } })).toHaveProperty(
    'runId',
  );
});

test.each([null, 'flow', [], { huge: 'x'.repeat(300_000) }])('what is no flow is refused: %.20j', async (draft) => {
  if (draft === null) return expect(make(undefined)).resolves.toMatch(/^[0-9a-f]{13}$/);
  await expect(make(draft)).rejects.toMatchObject({ fields: { flow: [expect.any(String)] } });
});

test('a request lets a person in by address, id or uid, once, and says why not', async () => {
  const uid = await active();
  const [one, two] = [await world.person(), await world.person()];
  expect(await executeAutomation(ctx, uid, { subscriber: String(one), payload: { cart: 7 } })).toEqual({
    runId: expect.anything(),
  });
  expect(await executeAutomation(ctx, uid, { subscriber: subscriberUid(two) })).toEqual({ runId: expect.anything() });
  expect(await executeAutomation(ctx, uid, { subscriber: (await world.personRow(one))?.email ?? '' })).toEqual({
    refused: 'entered_before',
  });
  await expect(executeAutomation(ctx, uid, { subscriber: 'nobody@example.org' })).rejects.toMatchObject({
    code: 'SUBSCRIBER_NOT_FOUND',
  });
  await expect(
    executeAutomation(ctx, uid, { subscriber: String(one), payload: { a: 'x'.repeat(65_536) } }),
  ).rejects.toMatchObject({
    fields: { payload: [expect.stringContaining('64 KiB')] },
  });
  await expect(executeAutomation(ctx, uid, { subscriber: String(one), payload: [1] })).rejects.toMatchObject({
    fields: { payload: [expect.any(String)] },
  });
  await setAutomationStatus(ctx, uid, 'inactive');
  await expect(executeAutomation(ctx, uid, { subscriber: String(one) })).rejects.toMatchObject({
    code: 'AUTOMATION_NOT_ACTIVE',
  });
});

test('the key of an entry comes from the payload', async () => {
  const uid = await active({ ...flow, entry: { mode: 'per_key', key: 'cart.id' } });
  const person = String(await world.person());
  const enter = (payload: unknown) => executeAutomation(ctx, uid, { subscriber: person, payload });
  expect(await enter({ cart: { id: 5 } })).toEqual({ runId: expect.anything() });
  expect(await enter({ cart: { id: '6' } })).toEqual({ runId: expect.anything() });
  expect(await enter({ cart: { id: '5' } })).toEqual({ refused: 'key_entered' });
  expect(await enter({ cart: {} })).toEqual({ refused: 'no_key' });
});

test('a deleted automation is gone with everything of it', async () => {
  const uid = await active();
  const person = await world.person();
  await executeAutomation(ctx, uid, { subscriber: String(person) });
  await deleteAutomation(ctx, uid);
  await expect(findOwnedAutomation(ctx, uid)).rejects.toMatchObject({ code: 'AUTOMATION_NOT_FOUND' });
  await eraseGone(ctx, () => false);
  expect(await world.leftOf(person)).toEqual([]);
});

test('another customer finds, changes, publishes and runs nothing', async () => {
  const uid = await active();
  for (const act of [
    () => findOwnedAutomation(stranger, uid),
    () => updateAutomation(stranger, uid, { name: 'Mine' }),
    () => publishAutomation(stranger, uid, 1),
    () => setAutomationStatus(stranger, uid, 'inactive'),
    () => executeAutomation(stranger, uid, { subscriber: '1' }),
    () => deleteAutomation(stranger, uid),
    () => createAutomation(stranger, { listUid: list.uid, name: 'Mine' }),
  ])
    await expect(act()).rejects.toMatchObject({ code: expect.stringMatching(/^(AUTOMATION|LIST)_NOT_FOUND$/) });
  expect(await findOwnedAutomation(ctx, uid)).toMatchObject({ name: 'Welcome', status: 'active' });
});

test('publishing the flow that is live makes no version; there may not be more than a thousand', async () => {
  const uid = await make();
  expect(await publishAutomation(ctx, uid, 1)).toMatchObject({ number: 1 });
  expect(await publishAutomation(ctx, uid, 1)).toMatchObject({ number: 1, warnings: [expect.anything()] });
  const other = { ...flow, nodes: [{ ...wait, for: { hours: 2 } }] };
  await updateAutomation(ctx, uid, { flow: other, draftVersion: 1 });
  expect(await publishAutomation(ctx, uid, 2)).toMatchObject({ number: 2 });
  const { id } = await findOwnedAutomation(ctx, uid);
  await ctx.db.execute(sql`UPDATE automation_version SET number = 1000 WHERE automation_id = ${id} AND number = 2`);
  await ctx.db.execute(sql`UPDATE automation SET live_version = 1000 WHERE id = ${id}`);
  expect(await publishAutomation(ctx, uid, 2)).toMatchObject({ number: 1_000 });
  await updateAutomation(ctx, uid, { flow, draftVersion: 2 });
  await expect(publishAutomation(ctx, uid, 3)).rejects.toMatchObject({ code: 'TOO_MANY_VERSIONS' });
});

test('flows that a process keeps are bounded by their size, the oldest go first', () => {
  const kept = new KeptFlows<number>({ bytes: 100, count: 3 });
  kept.keep('a', 1, 60);
  kept.keep('b', 2, 40);
  expect([kept.get('a'), kept.get('b')]).toEqual([1, 2]);
  kept.keep('b', 3, 41);
  expect([kept.get('a'), kept.get('b')]).toEqual([undefined, 3]);
  kept.keep('c', 4, 101);
  expect([kept.get('b'), kept.get('c')]).toEqual([undefined, undefined]);
  for (const name of ['d', 'e', 'f', 'g']) kept.keep(name, 5, 1);
  expect(['d', 'e', 'f', 'g'].map((name) => kept.get(name))).toEqual([undefined, 5, 5, 5]);
});
