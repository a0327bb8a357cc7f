/** Results of attempts: what pauses a webhook and what does not, rows that cannot be written, and locks. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createAttemptRecorder, type EndedAttempt } from '../../../src/domain/webhooks/attempt-recorder.ts';
import {
  addDeliveries,
  resendDeliveries,
  returnDeliveries,
  takeDeliveries,
  type Attempt,
  type Resending,
} from '../../../src/domain/webhooks/delivery-store.ts';
import { sealWebhookSecret } from '../../../src/domain/webhooks/webhook-secret.ts';
import { insertWebhook, nextSequences, updateWebhookRow } from '../../../src/domain/webhooks/webhook-store.ts';
import type { Webhook } from '../../../src/domain/webhooks/webhook.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTenant(await createTestContext());
const { db } = ctx;

async function webhook(): Promise<Webhook> {
  const uid = newUid();
  const sealedSecret = sealWebhookSecret(ctx.installation.secret, uid, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
  // Of its own: what other tests have under way takes no places.
  const receiver = `https://${uid}.example`;
  const of = { uid, name: 'Books', event: 'new_customer', url: `${receiver}/`, receiver } as const;
  return insertWebhook(db, { ...of, customerId: ctx.viewer?.customerId ?? 0n, sealedSecret });
}

const ALL = {
  leaseSeconds: 60,
  known: [],
  limitOfOthers: 10,
  wanted: 10,
  underWay: [],
  limitOfCustomer: 1_000,
} as const;

async function add(of: Webhook, count = 1): Promise<void> {
  const made = Array.from({ length: count }, () => ({
    ...{ webhook: of, event: 'new_customer', sourceKey: newUid(), personId: null, happenedAt: new Date() },
    payload: '{}',
  }));
  await addDeliveries(db, made);
}

/** Deliveries of the webhook that a worker has taken. */
async function taken(owner: string, of: Webhook, count = 1) {
  await add(of, count);
  return takeDeliveries(db, { ...ALL, owner, limitOfOthers: count, wanted: count });
}

type Delivery = EndedAttempt['delivery'];

function ended(delivery: Delivery, values: Partial<Attempt> = {}): EndedAttempt {
  const request = { method: 'POST', url: delivery.url, headers: {} };
  const nothing = { delaySeconds: null, durationMs: 5, answer: null, error: null, body: null };
  return {
    delivery,
    attempt: { ...nothing, delivery, attempt: 1, state: 'delivered', status: 200, request, ...values },
  };
}

const failure = { state: 'waiting', delaySeconds: 900, status: 500, error: 'The receiver answered 500.' } as const;

async function record(owner: string, all: readonly EndedAttempt[]): Promise<void> {
  const recorder = createAttemptRecorder(ctx, owner);
  await Promise.all(all.map((one) => recorder.add(one)));
}

/** How long ago the webhook began to fail, and failed last. */
async function failing({ id }: Webhook, since: string, last: string): Promise<void> {
  await db.execute(
    sql`UPDATE webhook SET failing_since = now() - ${since}::interval, last_failed_at = now() - ${last}::interval WHERE id = ${id}`,
  );
}

const stateOf = ({ id }: Webhook) =>
  queryRows(
    db,
    sql`SELECT status, failing_since IS NULL AS "isWell", failing_since > now() - interval '1 hour' AS "isNew" FROM webhook WHERE id = ${id}`,
  );

test('one failure after a quiet time pauses nothing, a failed retry after five days of failures does', async () => {
  const owner = randomUUID();
  const quiet = await webhook();
  await failing(quiet, '9 days', '8 days');
  for (const delivery of await taken(owner, quiet)) await record(owner, [ended(delivery, { ...failure, attempt: 2 })]);
  expect(await stateOf(quiet)).toEqual([{ status: 'active', isWell: false, isNew: true }]);

  const bad = await webhook();
  await failing(bad, '6 days', '2 hours');
  const [first, second] = await taken(owner, bad, 2);
  if (!first || !second) throw new Error('Nothing was taken.');
  await record(owner, [ended(first, failure)]);
  expect(await stateOf(bad)).toEqual([{ status: 'active', isWell: false, isNew: false }]);
  await record(owner, [ended(second, { ...failure, attempt: 2 })]);
  expect(await stateOf(bad)).toEqual([{ status: 'paused', isWell: false, isNew: false }]);
});

test('a success ends the time of failures, also when that began after the delivery was taken', async () => {
  const owner = randomUUID();
  const made = await webhook();
  const [delivery] = await taken(owner, made);
  if (!delivery) throw new Error('Nothing was taken.');
  await failing(made, '6 days', '1 hour');
  await record(owner, [ended(delivery)]);
  expect(await stateOf(made)).toMatchObject([{ status: 'active', isWell: true }]);
});

test('one result that cannot be written does not keep the others', async () => {
  const owner = randomUUID();
  const made = await webhook();
  const all = await taken(owner, made, 3);
  // More than the column takes.
  await record(
    owner,
    all.map((delivery, no) => ended(delivery, no === 1 ? { attempt: 40_000 } : {})),
  );
  const states = await queryRows(
    db,
    sql`SELECT d.state, q.owner IS NOT NULL AS "isTaken" FROM hot.webhook_delivery d LEFT JOIN hot.webhook_queue q ON q.delivery_id = d.id
         WHERE d.webhook_id = ${made.id} ORDER BY d.id`,
  );
  const delivered = { state: 'delivered', isTaken: false };
  expect(states).toEqual([delivered, { state: 'waiting', isTaken: true }, delivered]);
});

test('whoever changes a webhook and its queue, and who records attempts, do not lock each other out', async () => {
  const owner = randomUUID();
  const made = await webhook();
  const [delivery] = await taken(owner, made);
  if (!delivery) throw new Error('Nothing was taken.');
  const waiting = () =>
    queryRows(
      db,
      sql`SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
  const recording = await ctx.database.transaction(async (tx) => {
    await tx.execute(sql`SELECT 1 FROM webhook WHERE id = ${made.id} FOR UPDATE`);
    const begun = record(owner, [ended(delivery, failure)]);
    await expect.poll(waiting, { timeout: 120_000, interval: 20 }).toHaveLength(1);
    // It waits, and holds nothing that is needed here.
    await tx.execute(sql`SELECT 1 FROM hot.webhook_queue WHERE webhook_id = ${made.id} FOR UPDATE NOWAIT`);
    await updateWebhookRow(tx, made, { url: 'https://other.example/', receiver: 'https://other.example' });
    return { begun };
  });
  await recording.begun;
  expect(await stateOf(made)).toMatchObject([{ isWell: false }]);
});

test('sending again, some at a time, comes to all once, also when they fail again meanwhile, and says whether there are more', async () => {
  const owner = randomUUID();
  const made = await webhook();
  const all = await taken(owner, made, 3);
  const over = { ...failure, state: 'failed', delaySeconds: null } as const;
  await record(
    owner,
    all.map((delivery) => ended(delivery, over)),
  );
  const again: unknown[] = [];
  let after: bigint | null = null;
  for (const areMore of [true, true, false]) {
    const resending: Resending = { webhook: made, states: ['failed'], uid: null, from: null, to: null, after, max: 1 };
    const resent = await resendDeliveries(db, resending);
    const [delivery] = await takeDeliveries(db, {
      ...ALL,
      ...{ owner, known: [[made.receiver, 1]], limitOfOthers: 0, wanted: 1 },
    });
    expect(resent).toEqual({ count: 1, areMore, lastUid: delivery?.uid });
    again.push(delivery?.id);
    after = delivery?.id ?? null;
    if (delivery) await record(owner, [ended(delivery, { ...over, attempt: 2 })]);
  }
  expect(again).toEqual(all.map(({ id }) => id));
});

test('a request goes to the receiver that the webhook has now, with the headers that it has now', async () => {
  const made = await webhook();
  const [delivery] = await taken(randomUUID(), made);
  await db.execute(sql`UPDATE hot.webhook_queue SET due_at = now(), owner = NULL, receiver = 'https://old.example'
                        WHERE delivery_id = ${delivery?.id ?? 0n}`);
  const again = await takeDeliveries(db, {
    ...ALL,
    ...{ owner: randomUUID(), limitOfOthers: 9, wanted: 9 },
  });
  expect(again.map(({ id, receiver }) => ({ id, receiver }))).toEqual([{ id: delivery?.id, receiver: made.receiver }]);
});

test('a receiver is served by one worker at a time, and what it has not sent goes back', async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  const made = await webhook();
  const first = await taken(one, made, 3);
  await add(made);
  const take = (owner: string, limitOfCustomer = 1_000) =>
    takeDeliveries(db, { ...ALL, owner, known: [[made.receiver, 9]], limitOfOthers: 0, limitOfCustomer });
  expect(await take(other)).toEqual([]);
  const ids = first.map(({ id }) => id);
  // Not those of another worker.
  await returnDeliveries(db, other, ids);
  expect(await take(other)).toEqual([]);
  await returnDeliveries(db, one, ids);
  expect(await take(other, 2)).toHaveLength(2);
  expect(await take(other)).toHaveLength(2);
});

test('of a customer no more is taken than its limit, with what is under way', async () => {
  const mine = ctx.viewer?.customerId ?? 0n;
  const owner = randomUUID();
  const hooks = [await webhook(), await webhook(), await webhook()];
  for (const made of hooks) await add(made);
  const known = hooks.map(({ receiver }) => [receiver, 2] as const);
  const take = (underWay: readonly (readonly [bigint, number])[]) =>
    takeDeliveries(db, { ...ALL, owner, known, limitOfOthers: 0, underWay, limitOfCustomer: 3 });
  expect(await take([[mine, 3]])).toEqual([]);
  expect(await take([[mine, 1]])).toHaveLength(2);
  expect(await take([])).toHaveLength(1);
});

test('numbers that are taken at the same time are all different', async () => {
  const all = await Promise.all(Array.from({ length: 4 }, () => nextSequences(db, 20_000)));
  expect(new Set(all.flat().map(({ sequence }) => sequence))).toHaveProperty('size', 80_000);
});
