/** Followers and wakers take turns: a customer with many events, or with a flow that fails, does not delay another one's (D89). */
import { expect, test } from 'vitest';
import { tagSubscriber } from '../../../src/domain/audience/tag-subscriber.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { followActivity } from '../../../src/domain/automations/events/follow-activity.ts';
import { followPeople } from '../../../src/domain/automations/events/follow-people.ts';
import type { Context } from '../../../src/domain/context.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { createLog } from '../../../src/lib/log.ts';
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

/** Longer than a look lasts. */
const SLOW_MS = 1_100;

/** A process in which a flow that fails takes a whole look to do so. */
function failingSlowly(ctx: Context): Context {
  const write = (line: string) => {
    const end = performance.now() + SLOW_MS;
    while (line.includes('_postponed') && performance.now() < end);
  };
  return { ...ctx, log: createLog({ level: 'warn', format: 'json', write }) };
}

/** Of two customers, of whom the first has broken flows. */
async function startWorlds() {
  const broken = await startFlowWorld(new Date().toISOString());
  return { broken, sound: await startFlowWorld(new Date().toISOString(), broken.ctx) };
}

test('a flow of one customer that cannot read its events holds up no other customer', async () => {
  const { broken, sound } = await startWorlds();
  const [fails, works] = [await broken.publish(flow), await sound.publish(flow)];
  for (const { ctx, list, person } of [broken, sound])
    await tagSubscriber(ctx, { subscriber: subscriberUid(await person()), listUid: list.uid, tags: ['new'] });
  await broken.ctx.db.execute(sql`UPDATE automation SET live_version = 99 WHERE uid = ${fails.uid}`);
  await followPeople(failingSlowly(broken.ctx), { isStopping: () => false });
  expect(await sound.counts(works)).toEqual({ rest: 'entered 1, waiting 1' });
});

test('flows that cannot look at opens and clicks hold up no other one, however many they are', async () => {
  const { ctx, list } = await startFlowWorld(new Date().toISOString());
  // One more than a round has.
  await ctx.db.execute(
    sql`WITH broken AS (
          INSERT INTO automation (customer_id, list_id, uid, name, draft, status, live_version)
          SELECT ${list.customerId}, ${list.id}, 'broken' || n, 'Broken', '{}', 'active', 99 FROM generate_series(1, 101) n RETURNING customer_id, id
        ), followed AS (INSERT INTO hot.flow_follower (customer_id, automation_id, position) SELECT customer_id, id, 0 FROM broken)
        INSERT INTO hot.flow_activity (customer_id, automation_id, is_click, source_kind, source_id, person_id, event_id, at, due_at)
        SELECT customer_id, id, false, 1, 1, 1, 1, now(), now() FROM broken`,
  );
  await followActivity(ctx, { isStopping: () => false });
  const untried = sql`SELECT 1 FROM hot.flow_follower WHERE customer_id = ${list.customerId} AND retry_at IS NULL`;
  expect(await ctx.db.execute(untried)).toBe(0);
});

test('a node of one customer that cannot be worked on holds up no other customer', async () => {
  const { broken, sound } = await startWorlds();
  const marking = {
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'mark', type: 'add_tag', tag: 'marked' }],
    edges: [{ from: 'start', to: 'mark' }],
  };
  const [fails, works] = [await broken.publish(marking), await sound.publish(marking)];
  await broken.enter(fails, [await broken.person()]);
  await sound.enter(works, [await sound.person()]);
  await broken.ctx.db.execute(
    sql`UPDATE hot.flow_node SET node = 'gone', next_wake_at = next_wake_at - interval '1 hour' WHERE automation_id = ${fails.key.automationId}`,
  );
  await advanceDue(failingSlowly(broken.ctx), { now: sound.now, isStopping: () => false });
  expect(await sound.counts(works)).toEqual({ mark: 'entered 1, passed 1' });
});
