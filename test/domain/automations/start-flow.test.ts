/** A flow starts another one for its people: by that flow's rules of entry, not deeper than allowed, and never in a circle that can be seen. */
import { expect, test } from 'vitest';
import { updateAutomation } from '../../../src/domain/automations/update-automation.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { deleteAutomation } from '../../../src/domain/automations/delete-automation.ts';
import { newList } from '../../support/tenant.ts';
import { createAutomation } from '../../../src/domain/automations/create-automation.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld();
const { ctx, list } = world;
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const triggers = [{ type: 'execute' }];
const rest = { id: 'rest', type: 'wait', for: { days: 1 } };
const waiting = { triggers, nodes: [rest], edges: line('start', 'rest') };
const starting = (automationUid: string) => ({
  triggers,
  nodes: [{ id: 'other', type: 'start_flow', automationUid }, rest],
  edges: line('start', 'other', 'rest'),
});

test('the person enters the other flow and goes on in this one; a refused entry says why', async () => {
  const second = await world.publish(waiting);
  const first = await world.publish({ ...starting(second.uid), entry: { mode: 'after_days', days: 1 } });
  const person = await world.person();
  await world.enter(first, [person]);
  await world.run('2026-11-27T09:00:00Z');
  expect(await world.counts(second)).toEqual({ rest: 'entered 1, waiting 1' });
  expect(await world.counts(first)).toMatchObject({ rest: 'entered 1, waiting 1' });
  expect((await world.steps(person)).toSorted()).toEqual([
    ...['other entered execute', 'other passed next', 'rest entered start_flow'],
  ]);
  // Two days later: the other one lets people in once only.
  await world.run('2026-11-29T09:00:00Z');
  await world.enter(first, [person]);
  await world.run();
  expect(await world.steps(person)).toContain('other passed next entered_before');
  expect(await world.counts(second)).toEqual({ rest: 'entered 1, passed 1' });
});

test('the payload goes along, and gives entries their keys', async () => {
  const second = await world.publish({
    triggers,
    entry: { mode: 'per_key', key: 'cart' },
    nodes: [{ id: 'ask', type: 'condition', if: { payload: { path: 'cart', text: { is: 'a' } } } }, rest],
    edges: [...line('start', 'ask'), { from: 'ask', port: 'yes', to: 'rest' }],
  });
  const first = await world.publish({ ...starting(second.uid), entry: { mode: 'per_key', key: 'cart' } });
  const person = await world.person();
  await world.enter(first, [person], { payload: { cart: 'a' }, entryKey: 'a' });
  await world.enter(first, [person], { payload: { cart: 'b' }, entryKey: 'b' });
  await world.run();
  expect(await world.counts(second)).toEqual({ ask: 'entered 2, passed 2', rest: 'entered 1, waiting 1' });
});

test('flows start one another five deep at most', async () => {
  let next = await world.publish(waiting);
  for (let no = 0; no < 6; no++) next = await world.publish({ ...starting(next.uid), entry: { mode: 'after_end' } });
  const person = await world.person();
  await world.enter(next, [person]);
  await world.run();
  const steps = await world.steps(person);
  expect(steps.filter((step) => step === 'other entered start_flow')).toHaveLength(5);
  expect(steps).toContain('other passed next too_deep');
  expect(steps).not.toContain('rest entered start_flow');
});

test('a flow that is stopped or deleted is a fault of the node, which the flow may catch', async () => {
  const second = await world.publish(waiting);
  const first = await world.publish({
    ...starting(second.uid),
    nodes: [...starting(second.uid).nodes, { id: 'mark', type: 'add_tag', tag: 'not started' }],
    edges: [...line('start', 'other', 'rest'), { from: 'other', port: 'error', to: 'mark' }],
  });
  await setAutomationStatus(ctx, second.uid, 'inactive');
  const [ann, ben] = [await world.person(), await world.person()];
  await world.enter(first, [ann]);
  await world.run();
  expect((await world.steps(ann)).slice(1)).toEqual(['other passed error flow_not_active', 'mark passed next']);
  await expect(deleteAutomation(ctx, second.uid)).rejects.toMatchObject({
    code: 'AUTOMATION_IN_USE',
    message: expect.stringContaining('automation “Flow” (other)'),
  });
  await setAutomationStatus(ctx, first.uid, 'inactive');
  await deleteAutomation(ctx, second.uid);
  await setAutomationStatus(ctx, first.uid, 'active');
  await world.enter(first, [ben]);
  await world.run();
  expect((await world.steps(ben)).slice(1)).toEqual(['other passed error flow_deleted', 'mark passed next']);
});

test('a flow of another list, and one that leads back to this one, are faults', async () => {
  const { uid: elsewhere } = await createAutomation(ctx, {
    listUid: (await newList(ctx)).uid,
    name: 'Else',
    flow: waiting,
  });
  await expect(world.publish(starting(elsewhere))).rejects.toMatchObject({
    faults: [{ node: 'other', field: 'automationUid', code: 'unknown_automation' }],
  });
  const { uid } = await createAutomation(ctx, { listUid: list.uid, name: 'First', flow: waiting });
  const middle = await world.publish(starting((await world.publish(starting(uid))).uid));
  for (const target of [uid, middle.uid]) {
    const { draftVersion } = await findDraft(uid);
    await updateAutomation(ctx, uid, { flow: starting(target), draftVersion });
    await expect(publishAutomation(ctx, uid, draftVersion + 1)).rejects.toMatchObject({
      faults: [{ node: 'other', field: 'automationUid', code: 'starts_itself' }],
    });
  }
});

async function findDraft(uid: string) {
  const { findOwnedAutomation } = await import('../../../src/domain/automations/find-owned-automation.ts');
  return findOwnedAutomation(ctx, uid);
}
