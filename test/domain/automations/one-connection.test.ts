/** Steps of flows send their statements one after the other: a transaction has one connection, and the client will refuse a second one at work. */
import { expect, test } from 'vitest';
import { DatabaseClient } from '../../../src/db/client.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });

const level = (is: string) => ({ field: { tag: 'LEVEL', text: { is } } });

/** What `work` sent on a connection that was at work. */
async function sentTooEarly(work: () => Promise<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  const before: unknown = Reflect.get(DatabaseClient.prototype, 'query');
  if (typeof before !== 'function') throw new Error('The client has no query().');
  const query = before;
  Object.defineProperty(DatabaseClient.prototype, 'query', {
    configurable: true,
    value(this: DatabaseClient, ...given: unknown[]): unknown {
      if (this.isWaiting) found.push(given[0]);
      return Reflect.apply(query, this, given);
    },
  });
  try {
    await work();
  } finally {
    Reflect.deleteProperty(DatabaseClient.prototype, 'query');
  }
  return found;
}

test('publishing triggers, judging goals and asking conditions send one statement at a time', async () => {
  const segments = await Promise.all(
    ['gold', 'silver'].map((is) => createSegment(ctx, { listUid: list.uid, name: is, rule: level(is) })),
  );
  const person = await world.person();
  expect(
    await sentTooEarly(async () => {
      const flow = await world.publish({
        triggers: [{ type: 'execute' }, ...segments.map(({ uid }) => ({ type: 'segment_entered', segmentUid: uid }))],
        goals: ['bronze', 'iron', 'tin'].map((is) => ({ id: is, person: level(is) })),
        nodes: [
          { id: 'asked', type: 'condition', if: { any: ['a', 'b', 'c'].map((is) => ({ person: level(is) })) } },
          { id: 'rest', type: 'wait', for: { days: 1 } },
        ],
        edges: [
          { from: 'start', to: 'asked' },
          { from: 'asked', port: 'yes', to: 'rest' },
          { from: 'asked', port: 'no', to: 'rest' },
        ],
      });
      await world.enter(flow, [person]);
      await world.run();
      await updateSubscriber(ctx, { subscriber: subscriberUid(person), fieldValues: { LEVEL: 'tin' } });
      await world.follow();
    }),
  ).toEqual([]);
  expect(await world.steps(person)).toEqual(['asked entered execute', 'asked passed no', 'rest left goal:tin']);
});
