/** What webhooks of customers ask for becomes deliveries: in turns, and in pieces of a limited size. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../../src/db/database.ts';
import type { Context } from '../../../src/domain/context.ts';
import { createWebhook } from '../../../src/domain/webhooks/save-webhook.ts';
import { followActivity } from '../../../src/domain/webhooks/webhook-activity-follower.ts';
import { eraseAsideActivity } from '../../../src/domain/webhooks/webhook-activity-store.ts';
import { addDeliveries, takeDeliveries } from '../../../src/domain/webhooks/delivery-store.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();

/** A customer with a list, and a webhook on people who come to it. */
async function tenant() {
  const ctx = await createTenant(root);
  const list = await newList(ctx);
  const { webhook } = await createWebhook(ctx, {
    ...{ name: 'Comers', event: 'subscriber.added', url: 'https://receiver.example/', listUid: list.uid },
  });
  return { ctx, list, webhook };
}

async function countOf({ db }: Context, of: { readonly customerId: bigint }, table: 'activity' | 'delivery') {
  const [found] = await queryRows<{ count: number }>(
    db,
    table === 'activity'
      ? sql`SELECT count(*)::int AS count FROM hot.webhook_activity WHERE customer_id = ${of.customerId}`
      : sql`SELECT count(*)::int AS count FROM hot.webhook_delivery WHERE customer_id = ${of.customerId}`,
  );
  return found?.count;
}

test('a customer with a flood of events has its turn, and others have theirs', async () => {
  const [large, small] = [await tenant(), await tenant()];
  await subscriberPeople(root.db, large.list, 1_000);
  await subscriberPeople(root.db, small.list, 1);
  await followActivity(root);
  expect(await countOf(root, small.list, 'delivery')).toBe(1);
  expect(await countOf(root, large.list, 'delivery')).toBeLessThan(200);
  // Nothing is due, though there is something.
  await root.db.execute(
    sql`INSERT INTO hot.webhook_activity (customer_id, event, person_id, at, due_at) VALUES (${small.list.customerId}, 'open', 1, now(), now() + interval '1 hour')`,
  );
  while ((await followActivity(root)) > 0);
  expect(await countOf(root, large.list, 'delivery')).toBe(1_000);
  expect(await countOf(root, large.list, 'activity')).toBe(0);
  expect(await countOf(root, small.list, 'activity')).toBe(1);
});

test('large payloads are written in pieces, each once', async () => {
  const { webhook } = await tenant();
  const payload = JSON.stringify({ text: 'x'.repeat(400_000) });
  let statements = 0;
  const watched: Queryable = {
    query(columns, statement, name) {
      statements += 1;
      return root.db.query(columns, statement, name);
    },
    execute: (statement, name) => root.db.execute(statement, name),
    readBytes: (select) => root.db.readBytes(select),
  };
  const made = Array.from({ length: 25 }, (_, no) => ({
    ...{
      webhook,
      event: 'subscriber.added',
      sourceKey: `large ${no}`,
      personId: null,
      happenedAt: new Date(),
      payload,
    },
  }));
  expect(await addDeliveries(watched, made)).toBe(25);
  expect(await countOf(root, webhook, 'delivery')).toBe(25);
  expect(statements).toBe(3);
  expect(await addDeliveries(root.db, [])).toBe(0);
});

test('fields of a person are read where they are reported', async () => {
  const { ctx, list } = await tenant();
  for (const event of ['subscriber.changed', 'subscriber.tagged'] as const)
    await createWebhook(ctx, { name: event, event, url: 'https://receiver.example/' });
  const [id] = await subscriberPeople(root.db, list, 1);
  await root.db.execute(
    sql`UPDATE subscriber SET fields = '{"FIRST_NAME": "Ada"}', tags = '{poet}' WHERE customer_id = ${list.customerId} AND id = ${id}`,
  );
  while ((await followActivity(root)) > 0);
  const payloads = await queryRows<{ payload: unknown }>(
    root.db,
    sql`SELECT convert_from(payload, 'UTF8')::json AS payload FROM hot.webhook_delivery WHERE customer_id = ${list.customerId} ORDER BY id`,
  );
  expect(payloads.map((one) => one.payload)).toMatchObject([
    { event: 'subscriber.added', status: 'subscribed' },
    ...[{ event: 'subscriber.changed', fields: { FIRST_NAME: 'Ada' } }],
    { event: 'subscriber.tagged', tags: ['poet'] },
  ]);
});

test('what is left in the queue of a deleted webhook is dropped when it is taken', async () => {
  await root.db.execute(sql`
    INSERT INTO hot.webhook_queue (delivery_id, made_on, customer_id, webhook_id, receiver, due_at)
    VALUES (987654321, current_date, 1, 987654321, 'gone.example', now() - interval '1 hour')`);
  const owner = randomUUID();
  const taking = {
    leaseSeconds: 60,
    known: [],
    limitOfOthers: 10,
    wanted: 10_000,
    underWay: [],
    limitOfCustomer: 10_000,
  };
  const taken = await root.database.transaction((tx) => takeDeliveries(tx, { owner, ...taking }));
  expect(taken.filter(({ id }) => id === 987_654_321n)).toEqual([]);
  expect(await queryRows(root.db, sql`SELECT 1 FROM hot.webhook_queue WHERE receiver = 'gone.example'`)).toEqual([]);
});

test('one that cannot be reported holds up no other, is tried five times, and is kept aside with its reason for a week', async () => {
  const { list } = await tenant();
  const { customerId } = list;
  const [id] = await subscriberPeople(root.db, list, 1);
  // No such time can be written into a payload.
  await root.db.execute(
    sql`INSERT INTO hot.webhook_activity (customer_id, event, list_id, person_id, at) VALUES (${customerId}, 'subscriber.added', ${list.id}, ${id}, 'infinity')`,
  );
  const left = () =>
    queryRows(
      root.db,
      sql`SELECT tries, fault IS NOT NULL AS "hasReason", due_at = 'infinity' AS "isAside" FROM hot.webhook_activity WHERE customer_id = ${customerId}`,
    );
  while ((await followActivity(root)) > 0);
  expect(await countOf(root, list, 'delivery')).toBe(1);
  expect(await left()).toEqual([{ tries: 1, hasReason: true, isAside: false }]);
  for (let tries = 2; tries <= 5; tries++) {
    await root.db.execute(sql`UPDATE hot.webhook_activity SET due_at = now() WHERE customer_id = ${customerId}`);
    while ((await followActivity(root)) > 0);
    expect(await left()).toEqual([{ tries, hasReason: true, isAside: tries === 5 }]);
  }
  expect(await countOf(root, list, 'delivery')).toBe(1);
  await eraseAsideActivity(root.db);
  expect(await left()).toHaveLength(1);
  await root.db.execute(
    sql`UPDATE hot.webhook_activity SET at = now() - interval '8 days' WHERE customer_id = ${customerId}`,
  );
  await eraseAsideActivity(root.db);
  expect(await left()).toEqual([]);
});
