/** Counts of nodes are written once for each transaction, in one order for all. */
import { expect, test } from 'vitest';
import { enterPeople } from '../../../src/domain/automations/entries/enter-people.ts';
import { liveFlow } from '../../../src/domain/automations/runs/live-flow.ts';
import { inTransaction } from '../../../src/domain/context.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld();
const flow = {
  triggers: [{ type: 'execute' }],
  nodes: [{ id: 'rest', type: 'wait', for: { hours: 1 } }],
  edges: [{ from: 'start', to: 'rest' }],
};

test('transactions that let people into the same two flows, in different orders, do not wait for each other both', async () => {
  const flows = [await world.publish(flow), await world.publish(flow)];
  const people = await subscriberPeople(world.ctx.db, world.list, 4);
  const both = Promise.withResolvers<void>();
  let [begun, tries] = [0, 0];
  const enterBoth = (order: readonly number[], ids: readonly bigint[]) =>
    inTransaction(world.ctx, async (tx) => {
      tries += 1;
      for (const [no, which] of order.entries()) {
        const live = await liveFlow(tx, flows[which]?.key ?? { customerId: 0n, automationId: 0n, version: 0 });
        if (!live) throw new Error('The version is not there.');
        const entrant = { entryKey: '', payload: null, depth: 0, reason: 'execute' };
        await enterPeople(tx, live, { entrants: [{ ...entrant, personId: ids[no] ?? 0n }], now: world.now() });
        begun += 1;
        if (begun === 2) both.resolve();
        if (no === 0) await both.promise;
      }
    });
  await Promise.all([enterBoth([0, 1], people.slice(0, 2)), enterBoth([1, 0], people.slice(2))]);
  expect(tries, 'none was repeated after a deadlock').toBe(2);
  for (const one of flows) expect(await world.counts(one)).toEqual({ rest: 'entered 2, waiting 2' });
});
