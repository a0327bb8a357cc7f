/** What waits to be sent follows its webhook: some of it at once, the rest by a job, and not what a worker has taken. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addDeliveries, takeDeliveries } from '../../../src/domain/webhooks/delivery-store.ts';
import { moveRest } from '../../../src/domain/webhooks/move-waiting.ts';
import { createWebhook, deleteWebhook, updateWebhook } from '../../../src/domain/webhooks/save-webhook.ts';
import type { Webhook } from '../../../src/domain/webhooks/webhook.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTenant(await createTestContext());
const { db } = ctx;
const WAITING = 2_500;

/** A webhook for which deliveries wait; a worker has taken two. */
async function withWaiting(): Promise<Webhook> {
  const { webhook } = await createWebhook(ctx, { name: 'Books', event: 'open', url: `https://${newUid()}.example/` });
  await addDeliveries(
    db,
    Array.from({ length: WAITING + 2 }, () => ({
      ...{ webhook, event: 'open', sourceKey: newUid(), personId: null, happenedAt: new Date(), payload: '{}' },
    })),
  );
  const taking = { leaseSeconds: 60, limitOfOthers: 0, wanted: 2, underWay: [], limitOfCustomer: 2 };
  const taken = await takeDeliveries(db, { ...taking, owner: randomUUID(), known: [[webhook.receiver, 2]] });
  expect(taken).toHaveLength(2);
  return webhook;
}

async function placesOf({ id }: Webhook) {
  return queryRows<{ state: string; receiver: string | null; isTaken: boolean | null; count: number }>(
    db,
    sql`SELECT d.state, q.receiver, q.owner IS NOT NULL AS "isTaken", count(*)::int AS count
          FROM hot.webhook_delivery d LEFT JOIN hot.webhook_queue q ON q.delivery_id = d.id
         WHERE d.webhook_id = ${id} GROUP BY 1, 2, 3 ORDER BY count`,
  );
}

const waitingJobs = ({ id }: Webhook) =>
  queryRows(db, sql`SELECT 1 FROM graphile_worker.jobs WHERE key = ${`webhooks.move-waiting ${id}`}`);
const finish = (webhook: Webhook) => moveRest(ctx, webhook, () => false);

test('switched off, it is parked', async () => {
  const webhook = await withWaiting();
  const { receiver } = webhook;
  await updateWebhook(ctx, { uid: webhook.uid, status: 'inactive' });
  const taken = { state: 'waiting', receiver, isTaken: true, count: 2 };
  expect(await placesOf(webhook)).toMatchObject([taken, { state: 'parked', count: 1_000 }, { count: 1_500 }]);
  expect(await waitingJobs(webhook)).toHaveLength(1);
  // The process is about to stop: another job continues.
  await moveRest(ctx, webhook, () => true);
  expect(await placesOf(webhook)).toMatchObject([taken, { state: 'waiting', count: 500 }, { state: 'parked' }]);
  expect(await waitingJobs(webhook)).toHaveLength(1);
  await finish(webhook);
  expect(await placesOf(webhook)).toMatchObject([taken, { state: 'parked', receiver: null, count: WAITING }]);
});

test('led to another server, it goes there', async () => {
  const webhook = await withWaiting();
  await updateWebhook(ctx, { uid: webhook.uid, url: 'https://other.example/hook' });
  await finish(webhook);
  const other = { state: 'waiting', receiver: 'https://other.example' };
  expect(await placesOf(webhook)).toMatchObject([
    { ...other, isTaken: true, count: 2 },
    { ...other, count: WAITING },
  ]);
});

test('deleted, it is dropped', async () => {
  const webhook = await withWaiting();
  await deleteWebhook(ctx, webhook);
  await finish(webhook);
  expect(await placesOf(webhook)).toMatchObject([{ receiver: null, count: WAITING + 2 }]);
});
