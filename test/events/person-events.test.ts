/** What happens to people is written down once, by whichever statement it happens, and with the change. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { addListField } from '../../src/domain/audience/add-list-field.ts';
import { deleteList } from '../../src/domain/audience/delete-list.ts';
import { deleteSubscriber } from '../../src/domain/audience/delete-subscriber.ts';
import { updateSubscriber } from '../../src/domain/audience/update-subscriber.ts';
import { personEventKind } from '../../src/events/person-event.ts';
import { recordPersonEvents } from '../../src/events/person-event-store.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { startFlowWorld } from '../support/flow-world.ts';
import { newList } from '../support/tenant.ts';

const world = await startFlowWorld();
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });

async function recorded(personId: bigint): Promise<string[]> {
  const rows = await queryRows<{ kind: number; data: unknown; starts: boolean; depth: number }>(
    ctx.db,
    sql`SELECT kind, data, starts_flows AS starts, depth FROM hot.person_event
         WHERE customer_id = ${list.customerId} AND person_id = ${personId} ORDER BY id`,
  );
  return rows.map(({ kind, data, starts, depth }) =>
    [
      personEventKind(kind),
      data === null ? '' : JSON.stringify(data),
      starts ? '' : 'quiet',
      depth > 0 ? `depth ${depth}` : '',
    ]
      .filter(Boolean)
      .join(' '),
  );
}

test('each kind of change is a row with the names of what changed, and no values', async () => {
  const person = await world.person({ tags: ['new', 'vip'], fieldValues: { LEVEL: 'gold' } });
  const change = (more: object) =>
    updateSubscriber(ctx, { subscriber: subscriberUid(person), listUid: list.uid, ...more });
  await change({ fieldValues: { LEVEL: 'silver' }, tags: ['VIP', 'old'] });
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{VIP,old}' WHERE id = ${person}`);
  await change({ fieldValues: { LEVEL: 'silver' } });
  await change({ email: 'other@example.org' });
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ${person}`);
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'subscribed' WHERE id = ${person}`);
  await deleteSubscriber(ctx, { subscriber: subscriberUid(person), listUid: list.uid });
  expect(await recorded(person)).toEqual([
    'added {"tags":["new","vip"]}',
    'changed {"fields":["LEVEL"]}',
    'tagged {"tags":["old"]}',
    'untagged {"tags":["new"]}',
    'changed {"fields":["EMAIL"]}',
    'unsubscribed',
    'resubscribed',
    'removed',
  ]);
});

test('a thousand people by one statement are a thousand rows; a change that is rolled back is none', async () => {
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status)
    SELECT ${list.customerId}, ${list.id}, 'm' || n || '@x.example', 'm' || n || '@x.example', 'pending' FROM generate_series(1, 1000) n`);
  await ctx.db.execute(sql`
    UPDATE subscriber SET status = 'subscribed' WHERE customer_id = ${list.customerId} AND list_id = ${list.id} AND status = 'pending'`);
  await expect(
    ctx.database.transaction(async (tx) => {
      await tx.execute(sql`UPDATE subscriber SET tags = '{x}' WHERE customer_id = ${list.customerId}`);
      throw new Error('rolled back');
    }),
  ).rejects.toThrow('rolled back');
  const rows = await queryRows<{ kind: number; data: unknown; n: number }>(
    ctx.db,
    sql`SELECT e.kind, e.data, count(*)::int AS n FROM hot.person_event e JOIN subscriber s ON s.id = e.person_id
         WHERE s.customer_id = ${list.customerId} AND s.email LIKE 'm%@x.example' GROUP BY 1, 2 ORDER BY 1`,
  );
  expect(rows).toEqual([
    { kind: 1, data: { status: 'pending' }, n: 1000 },
    { kind: 2, data: null, n: 1000 },
  ]);
});

test('who goes with a list leaves no rows, and what comes from outside is in the same record', async () => {
  const other = await newList(ctx);
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status)
    VALUES (${other.customerId}, ${other.id}, 'g@x.example', 'g@x.example', 'subscribed')`);
  await deleteList(ctx, other.uid);
  await ctx.db.execute(sql`DELETE FROM subscriber WHERE customer_id = ${other.customerId} AND list_id = ${other.id}`);
  const kinds = await queryRows<{ kind: number }>(
    ctx.db,
    sql`SELECT kind FROM hot.person_event WHERE customer_id = ${other.customerId} AND list_id = ${other.id}`,
  );
  expect(kinds).toEqual([{ kind: 1 }]);
  const person = await world.person();
  await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [
    { personId: person, kind: 'event', at: new Date(), name: 'order_placed', data: { total: 5 }, depth: 2 },
    { personId: person, kind: 'complained', at: new Date() },
  ]);
  expect(await recorded(person)).toEqual(['added', 'event {"total":5} depth 2', 'complained']);
});
