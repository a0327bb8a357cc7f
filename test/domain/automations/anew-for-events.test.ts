/** Waits for events that begin anew after a pause (D85): from when what happened counts, by what the node says (D77). */
import { expect, test } from 'vitest';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
/** Steps are late by the clock of the database. */
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS);
const world = await startFlowWorld(inHours(-5).toISOString());
const { ctx, list } = world;

test.each([
  ['arrival', 'ask passed timeout'],
  ['entry', 'ask passed next event'],
])('what happened during the pause, counted from the %s', async (countsFrom, end) => {
  await world.run(inHours(-5).toISOString());
  const flow = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [
      { id: 'ask', type: 'wait_for_event', event: { type: 'event', name: 'order' }, for: { hours: 1 }, countsFrom },
      { id: 'rest', type: 'wait', for: { days: 1 } },
    ],
    edges: [
      { from: 'start', to: 'ask' },
      { from: 'ask', to: 'rest' },
      { from: 'ask', port: 'timeout', to: 'rest' },
    ],
  });
  const [before, after] = [await world.person(), await world.person()];
  await world.enter(flow, [before, after]);
  await world.run();
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  const order = (personId: bigint, at: Date) =>
    recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
      { personId, kind: 'event', name: 'order', at },
    ]);
  await order(before, inHours(-4.5));
  await setAutomationStatus(ctx, flow.uid, 'active', { mode: 'wait_anew' });
  await world.run(inHours(0).toISOString());
  const begun = ['ask entered execute', 'ask stays wait_anew'];
  for (const person of [before, after]) expect(await world.steps(person)).toEqual(begun);
  await order(after, inHours(0.5));
  await world.run(inHours(1.1).toISOString());
  expect(await world.steps(before)).toEqual([...begun, end]);
  expect(await world.steps(after)).toEqual([...begun, 'ask passed next event']);
});
