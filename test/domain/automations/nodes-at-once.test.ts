/** Nodes without a wait between them are done in one transaction, and what fails shows at its own node. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { advanceNode } from '../../../src/domain/automations/engine/advance-node.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const HOUR_MS = 3_600_000;
const world = await startFlowWorld();
await addListField(world.ctx, world.list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });
const triggers = [{ type: 'execute' }];
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const inHours = (hours: number) => new Date(world.now().getTime() + hours * HOUR_MS).toISOString();
const rest = { id: 'rest', type: 'wait', for: { hours: 1 } };

test('whoever has waited goes on to the next wait in one transaction, each step in the history', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      rest,
      { id: 'mark', type: 'add_tag', tag: 'marked' },
      { id: 'ways', type: 'condition', if: { person: { tags: { hasAny: ['marked'] } } } },
      { id: 'unmark', type: 'remove_tag', tag: 'marked' },
      { id: 'later', type: 'wait', for: { hours: 1 } },
    ],
    edges: [
      ...line('start', 'rest', 'mark', 'ways'),
      { from: 'ways', port: 'yes', to: 'unmark' },
      ...line('unmark', 'later'),
    ],
  });
  const [person = 0n] = await subscriberPeople(world.ctx.db, world.list, 1);
  await world.enter(flow, [person]);
  const later = new Date(inHours(1));
  const key = { ...flow.key, node: 'rest' };
  expect(await advanceNode(world.ctx, { key }, later)).toEqual({ moved: 1, next: undefined });
  expect(await world.steps(person)).toEqual([
    ...['rest entered execute', 'rest passed next', 'mark passed next', 'ways passed yes', 'unmark passed next'],
  ]);
  expect(await world.counts(flow)).toEqual({
    ...{ rest: 'entered 1, passed 1', mark: 'entered 1, passed 1', ways: 'entered 1, passed 1' },
    ...{ unmark: 'entered 1, passed 1', later: 'entered 1, waiting 1' },
  });
  const due = await queryRows<{ node: string }>(
    world.ctx.db,
    sql`SELECT node FROM hot.flow_node WHERE automation_id = ${flow.key.automationId} AND next_wake_at <= ${later}`,
  );
  expect(due, 'nothing is looked for where nobody stayed').toEqual([]);
});

test('what fails further on is tried again there, and everybody else goes on', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [rest, { id: 'mark', type: 'add_tag', tag: 'one more' }, { id: 'stop', type: 'end' }],
    edges: line('start', 'rest', 'mark', 'stop'),
  });
  const [bad = 0n, good = 0n] = await subscriberPeople(world.ctx.db, world.list, 2);
  await world.ctx.db.execute(sql`
    CREATE FUNCTION refuse_bad() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`);
  await world.ctx.db.execute(
    sql([
      `CREATE TRIGGER refuse_bad BEFORE UPDATE ON subscriber FOR EACH ROW WHEN (OLD.id = ${bad}) EXECUTE FUNCTION refuse_bad()`,
    ]),
  );
  await world.enter(flow, [bad, good]);
  await world.run(inHours(1));
  expect(await world.counts(flow)).toMatchObject({
    ...{ rest: 'entered 2, passed 2', mark: 'entered 2, waiting 1, passed 1', stop: 'entered 1, passed 1' },
  });
  const [run] = await queryRows<{ node: string; failures: number }>(
    world.ctx.db,
    sql`SELECT node, failures FROM hot.flow_run WHERE person_id = ${bad}`,
  );
  expect(run).toEqual({ node: 'mark', failures: 1 });
  await world.ctx.db.execute(sql`DROP TRIGGER refuse_bad ON subscriber`);
  await world.run(inHours(1));
  expect(await world.steps(bad)).toEqual([
    ...['rest entered execute', 'rest passed next', 'mark passed next', 'stop passed end'],
  ]);
});

test('a mail that was sent by the node before is not sent again where it is not to come again', async () => {
  const templateUid = newUid();
  await world.ctx.db.execute(
    sql`INSERT INTO template (customer_id, uid, name, kind, subject, html) VALUES (${world.list.customerId}, ${templateUid}, 'T', 'marketing', 'S', '<p>x</p>')`,
  );
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'mail', type: 'send_mail', templateUid },
      { id: 'again', type: 'send_mail', templateUid, notAgainWithinDays: 1 },
    ],
    edges: line('start', 'mail', 'again'),
  });
  const person = await world.person();
  await world.enter(flow, [person]);
  await world.run();
  expect(await world.steps(person)).toEqual([
    ...['mail entered execute', 'mail passed next', 'again passed next sent_recently'],
  ]);
});

test('a wait goes by the field that a node before it has written', async () => {
  const flow = await world.publish({
    triggers,
    nodes: [
      { id: 'set', type: 'set_field', field: 'ENDS', value: '2027-02-01' },
      { id: 'ends', type: 'wait_until', field: 'ENDS', at: '09:00' },
      { id: 'clear', type: 'set_field', field: 'ENDS', value: '' },
      { id: 'again', type: 'wait_until', field: 'ENDS', at: '09:00' },
    ],
    edges: line('start', 'set', 'ends', 'clear', 'again'),
  });
  const person = await world.person({ fieldValues: { ENDS: '2028-01-01' } });
  await world.enter(flow, [person]);
  await world.run();
  const [run] = await queryRows<{ wake: Date }>(
    world.ctx.db,
    sql`SELECT wake_at AS wake FROM hot.flow_run WHERE person_id = ${person}`,
  );
  expect(run?.wake.toISOString()).toBe('2027-02-01T09:00:00.000Z');
  await world.run('2027-02-01T09:00:00Z');
  expect((await world.steps(person)).at(-1)).toBe('again passed no_date no_date');
});

test('two flows that tag the same people in parts do not wait for each other both', async () => {
  const parts = (first: string, second: string) => ({
    triggers,
    nodes: [
      { id: 'first', type: 'condition', if: { person: { tags: { hasAny: [first] } } } },
      { id: 'one', type: 'add_tag', tag: 'done' },
      { id: 'second', type: 'condition', if: { person: { tags: { hasAny: [second] } } } },
      { id: 'two', type: 'add_tag', tag: 'done' },
    ],
    edges: [
      ...line('start', 'first'),
      ...[
        { from: 'first', port: 'yes', to: 'one' },
        { from: 'first', port: 'no', to: 'second' },
      ],
      { from: 'second', port: 'yes', to: 'two' },
    ],
  });
  const flows = [await world.publish(parts('odd', 'even')), await world.publish(parts('even', 'odd'))];
  const ids = await subscriberPeople(world.ctx.db, world.list, 1_000);
  await world.ctx.db.execute(
    sql`UPDATE subscriber SET tags = ARRAY[CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END] WHERE id = ANY (${ids}::bigint[])`,
  );
  for (const flow of flows) await world.enter(flow, ids);
  const before = await deadlocks();
  await Promise.all(flows.map(({ key }) => advanceNode(world.ctx, { key: { ...key, node: 'first' } }, world.now())));
  expect(await deadlocks()).toBe(before);
  for (const flow of flows) expect(await world.counts(flow)).toMatchObject({ first: 'entered 1000, passed 1000' });
});

async function deadlocks(): Promise<number> {
  const [row] = await queryRows<{ deadlocks: number }>(
    world.ctx.db,
    sql`SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()`,
  );
  return row?.deadlocks ?? 0;
}
