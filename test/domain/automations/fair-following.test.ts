/** The follower takes turns: a customer with many events does not delay another one's (D89). */
import { expect, test } from 'vitest';
import { tagSubscriber } from '../../../src/domain/audience/tag-subscriber.ts';
import { followPeople } from '../../../src/domain/automations/follow-people.ts';
import type { Context } from '../../../src/domain/context.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { sql } from '../../../src/db/database.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const flow = {
  triggers: [{ type: 'tag_added', tag: 'new' }],
  nodes: [{ id: 'rest', type: 'wait', for: { hours: 1 } }],
  edges: [{ from: 'start', to: 'rest' }],
};

test('a customer with a flood of events has one turn before another customer has one', async () => {
  const large = await startFlowWorld(new Date().toISOString());
  const small = await startFlowWorld(new Date().toISOString(), large.ctx);
  const flooded = [await large.publish(flow), await large.publish(flow), await large.publish(flow)];
  const quiet = await small.publish(flow);
  const ids = await subscriberPeople(large.ctx.db, large.list, 3_000);
  await large.ctx.db.execute(sql`UPDATE subscriber SET tags = '{new}' WHERE id = ANY (${ids}::bigint[])`);
  const person = await small.person();
  await tagSubscriber(small.ctx, { subscriber: subscriberUid(person), listUid: small.list.uid, tags: ['new'] });
  // A turn is a transaction. How often it is looked for others meanwhile depends on how long one takes.
  let turns = 0;
  const database: Context['database'] = {
    ...large.ctx.database,
    transaction: (work) => ((turns += 1), large.ctx.database.transaction(work)),
  };
  const entered = async () => (await small.counts(quiet))['rest'];
  await followPeople({ ...large.ctx, database }, { isStopping: () => turns === 2 });
  expect(await entered()).toBe('entered 1, waiting 1');
  const counts = await Promise.all(flooded.map(async (one) => (await large.counts(one))['rest']));
  expect(
    counts.filter((one) => one === undefined),
    'others of the flooded customer have had no turn yet',
  ).not.toEqual([]);
  await large.follow();
  for (const one of flooded) expect(await large.counts(one)).toEqual({ rest: 'entered 3000, waiting 3000' });
});
