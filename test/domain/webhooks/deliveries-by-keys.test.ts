/**
 * Whoever takes deliveries of a webhook, or records attempts of them, reads these, when the statistics are of a time in which each webhook had one
 * delivery; and whoever takes what happened reads what it takes. Counted by what the database says it read.
 */
import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { addDeliveries, recordAttempts, takeDeliveries } from '../../../src/domain/webhooks/delivery-store.ts';
import { chooseActivity, takeActivity } from '../../../src/domain/webhooks/webhook-activity-store.ts';
import { sealWebhookSecret } from '../../../src/domain/webhooks/webhook-secret.ts';
import { insertWebhook } from '../../../src/domain/webhooks/webhook-store.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { readCounter } from '../../support/read-counter.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const WEBHOOKS = 30;
const DELIVERIES = 20_000;
const PEOPLE = 3_000;
const TAKEN = 100;
const owner = crypto.randomUUID();

const base = await createTestContext();
const { db, database } = base;

async function newWebhook() {
  const ctx = await createTenant(base);
  const uid = newUid();
  return insertWebhook(db, {
    ...{ uid, customerId: ctx.viewer?.customerId ?? 0n, name: 'Books', event: 'new_customer' },
    ...{ url: `https://${uid}.example/`, receiver: `https://${uid}.example` },
    sealedSecret: sealWebhookSecret(base.installation.secret, uid, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
  });
}

const deliver = (webhook: Awaited<ReturnType<typeof newWebhook>>, count: number) =>
  addDeliveries(
    db,
    Array.from({ length: count }, (_, no) => ({
      ...{ webhook, event: 'new_customer', sourceKey: `${webhook.id} ${no}`, personId: null },
      ...{ happenedAt: new Date(), payload: '{}' },
    })),
  );

/** People of a new customer came to a list, of which a webhook is to be told. */
async function people(count: number) {
  const list = await newList(await createTenant(base));
  const ids = await subscriberPeople(db, list, count);
  await db.execute(
    sql`INSERT INTO hot.webhook_activity (customer_id, event, list_id, person_id, at)
        SELECT ${list.customerId}, 'subscriber.added', ${list.id}, p.id, now() FROM unnest(${ids}::bigint[]) AS p (id)`,
  );
}

beforeAll(async () => {
  for (const table of [sql`webhook_queue`, sql`webhook_activity`])
    await db.execute(sql`ALTER TABLE hot.${table} SET (autovacuum_enabled = off)`);
  for (let no = 0; no < WEBHOOKS; no++) {
    await deliver(await newWebhook(), 1);
    await people(1);
  }
  await db.execute(sql`ANALYZE`);
  await deliver(await newWebhook(), DELIVERIES);
  await db.execute(sql`DELETE FROM hot.webhook_activity`);
  await people(PEOPLE);
});

const counted = readCounter(database, ['webhook_delivery_2', 'webhook_activity', 'subscriber']);
const MODES = ['force_custom_plan', 'force_generic_plan'];

test.each(MODES)('deliveries are taken and written one by one (%s)', async (mode) => {
  await counted(async (tx, read) => {
    await tx.execute(sql`SELECT set_config('plan_cache_mode', ${mode}, true)`);
    const taken = await takeDeliveries(tx, {
      ...{ owner, leaseSeconds: 60, known: [], limitOfOthers: TAKEN, wanted: TAKEN, underWay: [] },
      limitOfCustomer: TAKEN,
    });
    expect(taken).toHaveLength(TAKEN);
    expect(await read('webhook_delivery_2')).toBeLessThanOrEqual(TAKEN);
    const ended = taken.map((delivery, no) => ({
      ...{ delivery, attempt: 1, request: null, status: null, durationMs: 1, answer: null, error: null, body: null },
      ...(no % 2 === 0
        ? { state: 'delivered' as const, delaySeconds: null }
        : { state: 'waiting' as const, delaySeconds: 60 }),
    }));
    await recordAttempts(tx, owner, ended);
    expect(await read('webhook_delivery_2')).toBeLessThanOrEqual(3 * TAKEN);
  });
});

test.each(MODES)('what happened is taken with the people to whom it did (%s)', async (mode) => {
  await counted(async (tx, read) => {
    await tx.execute(sql`SELECT set_config('plan_cache_mode', ${mode}, true)`);
    const keys = await chooseActivity(tx, TAKEN);
    const before = await read('webhook_activity');
    const taken = await takeActivity(tx, keys);
    expect(taken.filter(({ email }) => email !== null)).toHaveLength(TAKEN);
    expect((await read('webhook_activity')) - before).toBeLessThanOrEqual(TAKEN);
    expect(await read('subscriber')).toBeLessThanOrEqual(TAKEN);
  });
});
