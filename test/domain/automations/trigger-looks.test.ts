/** How triggers look at people: by changes alone, and at thousands of deleted ones in slices. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { updateSegment } from '../../../src/domain/audience/segments/update-segment.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { runTriggers } from '../../../src/domain/automations/triggers/run-triggers.ts';
import { membersBetween } from '../../../src/domain/automations/triggers/trigger-person-store.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { createTestContext } from '../../support/test-context.ts';
import { startTriggerWorld } from '../../support/trigger-world.ts';

const context = await createTestContext();
const GOLD = { field: { tag: 'LEVEL', text: { is: 'gold' } } };

async function startWorld() {
  const world = await startTriggerWorld('2022-06-01T00:00:00Z', context);
  await addListField(world.ctx, world.list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });
  const { uid } = await createSegment(world.ctx, { listUid: world.list.uid, name: 'Gold', rule: GOLD });
  return {
    ...{ ...world, segmentUid: uid },
    level: (id: bigint, LEVEL: string) =>
      updateSubscriber(world.ctx, { subscriber: subscriberUid(id), fieldValues: { LEVEL } }),
    people: async (flow: Parameters<typeof world.entries>[0]) =>
      (await world.entries(flow)).map(({ personId }) => personId),
  };
}

test('a quick look finds whom a change concerns; a rule that has changed waits for a look at all', async () => {
  const world = await startWorld();
  const [first, second] = [await world.person(), await world.person({ fieldValues: { LEVEL: 'silver' } })];
  const flow = await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]);
  await world.look('2022-06-01T00:01:00Z');
  const quick = async () => {
    await world.settle();
    return runTriggers(world.ctx, {
      now: () => new Date('2022-06-01T00:02:00Z'),
      isStopping: () => false,
      isQuick: true,
    });
  };
  await world.level(first, 'gold');
  expect(await quick()).toBe(1);
  expect(await world.people(flow)).toEqual([first]);
  await world.run('2022-06-01T00:02:00Z');
  await updateSegment(world.ctx, world.segmentUid, { rule: { field: { tag: 'LEVEL', text: { is: 'silver' } } } });
  expect(await quick()).toBe(0);
  await world.look('2022-06-01T00:03:00Z');
  await world.level(second, '');
  await world.level(first, 'silver');
  expect(await quick()).toBe(2);
  expect(await world.people(flow)).toEqual([first, first]);
});

test('the known people of a segment are read to the end, in slices, when thousands of them were deleted', async () => {
  const world = await startWorld();
  const { ctx, list } = world;
  await ctx.db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
        SELECT ${list.customerId}, ${list.id}, 'd' || n || '@x.example', 'd' || n || '@x.example', 'subscribed', '{"LEVEL": "gold"}' FROM generate_series(1, 3300) n`,
  );
  await world.watch([{ type: 'segment_entered', segmentUid: world.segmentUid }]);
  await world.look('2022-06-01T00:01:00Z');
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE customer_id = ${list.customerId}`);
  await ctx.db.execute(sql`DELETE FROM hot.flow_changed WHERE customer_id = ${list.customerId}`);
  const [row] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT id FROM hot.flow_trigger WHERE customer_id = ${list.customerId}`,
  );
  const key = { customerId: list.customerId, automationId: 0n, id: row?.id ?? 0n };
  const known = (after: bigint) => membersBetween(ctx.db, key, { after, upTo: null, max: 1_000 });
  const slice = await known(0n);
  expect(slice).toHaveLength(1_000);
  expect(await known(slice.at(-1) ?? 0n)).toHaveLength(1_000);
  await world.look('2022-06-01T02:00:00Z');
  expect(await known(0n)).toEqual([]);
});
