/** People who are moved on in their flow, or to another version of it, are found by their keys, whatever the statistics of the tables say. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../../src/db/database.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { movePeople } from '../../../src/domain/automations/versions/move-people.ts';
import { followPeople } from '../../../src/domain/automations/events/follow-people.ts';
import type { Context } from '../../../src/domain/context.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { versionMoves } from '../../support/version-moves.ts';

const others = await startFlowWorld(new Date().toISOString());
const world = await startFlowWorld(new Date().toISOString(), others.ctx);
const { ctx, list } = world;

/** One node after the other. */
function flowOf(...nodes: readonly { readonly id: string }[]) {
  const ids = ['start', ...nodes.map(({ id }) => id)];
  const edges = nodes.map(({ id: to }, no) => ({ from: ids[no] ?? '', to }));
  return { triggers: [{ type: 'execute' }], nodes, edges };
}
const tag = { id: 'one', type: 'add_tag', tag: 'one' };
const wait = (days: number) => ({ id: 'rest', type: 'wait', for: { days } });

/** Many rows, all of another customer. */
async function fillForOthers() {
  const { customerId } = others.list;
  await ctx.db.execute(
    sql`INSERT INTO hot.flow_run (customer_id, automation_id, id, person_id, entered_at, since, version, node)
        SELECT ${customerId}, 0, -n, -n, now(), now(), 1, 'x' FROM generate_series(1, 20000) n`,
  );
  await ctx.db.execute(
    sql`INSERT INTO hot.flow_step (customer_id, automation_id, run_id, person_id, at, happened_on, version, node, what)
        SELECT ${customerId}, 0, -n, -n, ${world.now()}, ${world.now()}::timestamptz::date, 1, 'x', 'passed' FROM generate_series(1, 20000) n`,
  );
  await ctx.db.execute(sql`ANALYZE hot.flow_run, hot.flow_step`);
}

/** Rows of runs and steps that this connection has read, and not reported yet. */
async function rowsRead(db: Queryable): Promise<number> {
  const [rows] = await queryRows<{ read: number }>(
    db,
    sql`SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::int AS read FROM pg_stat_xact_user_tables
         WHERE schemaname = 'hot' AND (relname = 'flow_run' OR relname LIKE 'flow_step%')`,
  );
  return rows?.read ?? 0;
}

/** A process that notes how many of them each of its transactions has read. */
function counting(read: number[]): Context {
  const transaction: Context['database']['transaction'] = (work) =>
    ctx.database.transaction(async (tx) => {
      const before = await rowsRead(tx);
      const result = await work(tx);
      read.push((await rowsRead(tx)) - before);
      return result;
    });
  return { ...ctx, database: { ...ctx.database, transaction } };
}

await fillForOthers();
const elsewhere = await world.publish(flowOf(tag, wait(1)));
await world.enter(elsewhere, await subscriberPeople(ctx.db, list, 3_000));
await world.run();

/** Of the 100 people of a batch. The customer has some thousand others. */
const READ_MAX = 2_000;

test('a step reads the runs of its batch, when the statistics are of a time before the customer had any', async () => {
  const first = await world.publish(flowOf(tag, wait(1)));
  await world.enter(first, await subscriberPeople(ctx.db, list, 100));
  const read: number[] = [];
  await advanceDue(counting(read), { now: () => world.now(), isStopping: () => false });
  expect(await world.counts(first)).toEqual({ one: 'entered 100, passed 100', rest: 'entered 100, waiting 100' });
  expect(Math.max(...read)).toBeLessThan(READ_MAX);
});

test('so does what happens to people who wait for it', async () => {
  const ask = { id: 'ask', type: 'wait_for_event', event: { type: 'event', name: 'paid' }, for: { days: 5 } };
  const first = await world.publish(flowOf(ask, wait(1)));
  const people = await subscriberPeople(ctx.db, list, 100);
  await world.enter(first, people);
  await world.run();
  await recordPersonEvents(
    ctx.db,
    { customerId: list.customerId, listId: list.id },
    people.map((personId) => ({ personId, kind: 'event', name: 'paid', at: new Date() })),
  );
  const read: number[] = [];
  await followPeople(counting(read), { isStopping: () => false });
  expect(await world.counts(first)).toEqual({ ask: 'entered 100, passed 100', rest: 'entered 100, waiting 100' });
  expect(Math.max(...read)).toBeLessThan(READ_MAX);
});

test('so does a move to another version, with their history', async () => {
  const first = await world.publish(flowOf(tag, wait(1)));
  await world.enter(first, await subscriberPeople(ctx.db, list, 100));
  await world.run();
  const second = await versionMoves(world).publishAgain(first, flowOf(wait(2), tag), { moves: {} });
  const read: number[] = [];
  const moving = { ...second.key, afterId: 0n, isLast: true, now: world.now() };
  await movePeople(counting(read), moving, () => false);
  expect(await world.counts(second)).toEqual({ rest: 'entered 100, waiting 100' });
  expect(read).toHaveLength(1);
  expect(Math.max(...read)).toBeLessThan(READ_MAX);
});
