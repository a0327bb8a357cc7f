/**
 * Webhooks whose sender is killed in the middle again and again: none is lost, none has two ids, only what was in flight or not recorded yet comes
 * twice, and the official library of Standard Webhooks verifies each request (hard cases C1, C2).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { addDeliveries } from '../../src/domain/webhooks/delivery-store.ts';
import { CONNECTIONS_MAX } from '../../src/domain/webhooks/receiver-connections.ts';
import { UNRECORDED_MAX } from '../../src/domain/webhooks/receiver-places.ts';
import { insertWebhook as insertRow } from '../../src/domain/webhooks/webhook-store.ts';
import { sealWebhookSecret } from '../../src/domain/webhooks/webhook-secret.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startProgram } from '../support/program.ts';
import { createTenant } from '../support/tenant.ts';
import { createTestContext } from '../support/test-context.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';

const DELIVERIES = 1_000;
const SECRET = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const KILLS = 4;

it('kill -9 in the middle loses nothing, and a dead receiver holds up nobody', async () => {
  const ctx = await createTenant(await createTestContext());
  const { db, installation } = ctx;
  const customerId = ctx.viewer?.customerId ?? 0n;
  const unverified: string[] = [];
  const well = await webhookReceiver(({ headers, body }) => {
    // At once: it refuses old timestamps.
    try {
      new Webhook(SECRET).verify(body, headers as Record<string, string>);
    } catch (error) {
      unverified.push(String(error));
    }
    return { status: 204, delayMs: 2 };
  });
  // It takes every request and never answers within the time that it has.
  const dead = await webhookReceiver(() => ({ status: 204, delayMs: 120_000 }));
  const [living, silent] = await Promise.all(
    [well, dead].map(({ origin }) => {
      const uid = newUid();
      const sealedSecret = sealWebhookSecret(installation.secret, uid, SECRET);
      const of = {
        customerId,
        uid,
        name: 'Webhook',
        event: 'new_customer',
        url: `${origin}/`,
        receiver: origin,
      } as const;
      return insertRow(db, { ...of, sealedSecret });
    }),
  );
  if (!living || !silent) throw new Error('There are no webhooks.');
  await addDeliveries(
    db,
    [silent, living].flatMap((webhook) =>
      Array.from({ length: DELIVERIES }, (_, no) => ({
        ...{ webhook, event: 'new_customer', sourceKey: `event ${no}`, personId: null, happenedAt: new Date() },
        payload: JSON.stringify({ no }),
      })),
    ),
  );
  const settings = {
    DATABASE_URL: ctx.database.url,
    ROLES: 'worker',
    OUTBOUND_ALLOW_HOSTS: '127.0.0.1',
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    const worker = await startProgram(settings);
    while (well.received.length < (DELIVERIES * kill) / (KILLS + 1)) await sleep(5);
    await worker.kill();
  }
  const survivors = [await startProgram(settings), await startProgram(settings)];
  const open = () =>
    queryRows<{ count: number }>(
      db,
      sql`SELECT count(*)::int AS count FROM hot.webhook_queue WHERE webhook_id = ${living.id}`,
    );
  await expect.poll(open, { timeout: 300_000, interval: 200 }).toEqual([{ count: 0 }]);
  for (const survivor of survivors) await survivor.stop();

  const ids = well.received.map(({ headers }) => String(headers['x-service-delivery']));
  expect(unverified).toEqual([]);
  expect(new Set(ids)).toHaveProperty('size', DELIVERIES);
  expect(new Set(well.received.map(({ body }) => body))).toHaveProperty('size', DELIVERIES);
  expect(ids.length - DELIVERIES).toBeLessThanOrEqual(KILLS * UNRECORDED_MAX);
  expect(well.openMax()).toBeLessThanOrEqual(CONNECTIONS_MAX);
  expect(dead.openMax()).toBeLessThanOrEqual(CONNECTIONS_MAX);
  const logged = await queryRows<{ state: string; count: number }>(
    db,
    sql`SELECT d.state, count(*)::int AS count FROM hot.webhook_delivery d
          JOIN hot.webhook_attempt a ON a.customer_id = d.customer_id AND a.webhook_id = d.webhook_id AND a.delivery_id = d.id AND a.status = 204
         WHERE d.webhook_id = ${living.id} GROUP BY d.state`,
  );
  expect(logged).toEqual([{ state: 'delivered', count: DELIVERIES }]);
}, 900_000);
