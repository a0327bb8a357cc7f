/** Deleting a payment gateway: what its vendor has of it is closed there first, and a vendor that does not answer does not keep it for ever. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { closeGateway } from '../../../src/domain/billing/payments/close-gateway.ts';
import { deleteGateway, deletionOf } from '../../../src/domain/billing/gateways/delete-gateway.ts';
import { createGateway, updateGateway } from '../../../src/domain/billing/gateways/save-gateway.ts';
import { paymentMethods } from '../../../src/domain/billing/saved-methods/list-methods.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { sealMethod } from '../../../src/domain/billing/gateways/gateway-secrets.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { creditOf, invoicesOf, openBillingWorld } from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin, setClock: at } = world;
let vendor = new PayVendor();
const { system, dueCustomer, begin, customerWithCard, ...scene } = await gatewayScene(world, () => vendor);
const gateway = { ...scene.gateway };

beforeEach(async () => {
  vendor = new PayVendor();
  at('2026-03-01T10:00:00Z');
  await admin.db.execute(sql`DELETE FROM payment_gateway WHERE type = 'acme-pay'`);
  await scene.nothingDue();
  const { id, uid } = await createGateway(admin, { name: 'Card', type: 'acme-pay', settings: { key: 'sk_1' } });
  Object.assign(gateway, { id, uid });
  Object.assign(scene.gateway, { id, uid });
});

const close = (isLastTry = false, ctx = system) => closeGateway(ctx, { gatewayUid: gateway.uid, isLastTry });

async function isThere(): Promise<boolean> {
  return (await world.rows(sql`SELECT 1 AS one FROM payment_gateway WHERE uid = ${gateway.uid}`)).length > 0;
}

async function statusOf(uid: string): Promise<string | undefined> {
  return (await world.rows<{ status: string }>(sql`SELECT status FROM payment_intent WHERE uid = ${uid}`))[0]?.status;
}

test('open payments are cancelled and saved methods deleted at the vendor, then the gateway is gone; the books stay', async () => {
  const [payer, holder] = [await dueCustomer(), await customerWithCard()];
  const { object, intentUid } = await begin(payer);
  expect(await deleteGateway(admin, { uid: gateway.uid })).toEqual({ uid: gateway.uid, isDeleted: false });
  expect(await deletionOf(admin, gateway.uid)).toContain('1 saved payment methods, 1 payments');
  await expect(updateGateway(admin, { uid: gateway.uid, status: 'active' })).rejects.toMatchObject({
    code: 'PAYMENT_GATEWAY_DELETING',
  });
  await expect(scene.start(payer)).rejects.toMatchObject({ code: 'PAYMENT_GATEWAY_NOT_OFFERED' });
  // Deleting it again is harmless.
  await deleteGateway(admin, { uid: gateway.uid });
  await close();
  expect(object.status).toBe('CANCELLED');
  expect(await statusOf(intentUid)).toBe('CANCELLED');
  expect(vendor.removed).toEqual(['card_1']);
  expect(await paymentMethods(holder.ctx, null)).toEqual([]);
  expect(await isThere()).toBe(false);
  expect((await invoicesOf(world, holder.id))[0]).toMatchObject({ status: 'paid' });
  expect(
    await world.rows(
      sql`SELECT 1 AS one FROM payment_intent WHERE gateway_id IS NULL AND method = 'acme-pay' AND next_sync_at IS NOT NULL`,
    ),
  ).toEqual([]);
  await close();
});

test('what was paid in the last moment is not lost', async () => {
  const payer = await dueCustomer();
  const { object } = await begin(payer);
  await deleteGateway(admin, { uid: gateway.uid });
  object.status = 'SUCCEEDED';
  await close();
  expect((await invoicesOf(world, payer.id)).at(-1)).toMatchObject({ status: 'paid' });
  expect(await creditOf(world, payer.id)).toBe(0n);
  expect(await isThere()).toBe(false);
});

test('it is refused while a charge is under way, and waits for one that has begun in the same moment', async () => {
  const customer = await customerWithCard();
  at('2026-04-01T10:00:00Z');
  // The others' subscriptions are not due.
  await admin.db.execute(
    sql`UPDATE subscription SET next_step_at = current_period_ends_at WHERE customer_id = ${customer.id}`,
  );
  await renewSubscriptions(system);
  const [charge] = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM payment_intent WHERE customer_id = ${customer.id} AND method_id IS NOT NULL`,
  );
  const intentUid = charge?.uid ?? '';
  vendor.failures.set('charge', new GatewayError('unavailable', 'It is down.'));
  await expect(chargeIntent(system, { intentUid })).rejects.toThrow('down');
  await expect(deleteGateway(admin, { uid: gateway.uid })).rejects.toMatchObject({
    code: 'PAYMENT_GATEWAY_IN_USE',
    message: expect.stringContaining('money may be moving'),
  });
  await admin.db.execute(
    sql`UPDATE payment_gateway SET status = 'inactive', deleting_at = now() WHERE uid = ${gateway.uid}`,
  );
  await close(true);
  expect([await isThere(), await statusOf(intentUid)]).toEqual([true, 'PENDING']);
  vendor.failures.clear();
  await chargeIntent(system, { intentUid });
  expect(await statusOf(intentUid)).toBe('SUCCEEDED');
  await close();
  expect(await isThere()).toBe(false);
});

test('a vendor that does not answer is asked again, and after the last try the log says what was left there', async () => {
  await customerWithCard();
  const { object } = await begin(await dueCustomer());
  await deleteGateway(admin, { uid: gateway.uid });
  for (const call of ['cancel', 'remove']) vendor.failures.set(call, new GatewayError('unavailable', 'It is down.'));
  await expect(close()).rejects.toThrow('did not close everything');
  expect(await isThere()).toBe(true);
  const logged: unknown[] = [];
  const log = { ...system.log, error: (event: string, fields?: object) => void logged.push({ event, ...fields }) };
  await close(true, { ...system, log });
  expect(logged).toEqual([
    expect.objectContaining({
      event: 'billing.gateway_left',
      count: 2,
      left: expect.arrayContaining([expect.stringContaining('It is down.')]),
    }),
  ]);
  expect([await isThere(), object.status]).toEqual([false, 'PENDING']);
});

test('hundreds of saved methods are closed, a part in each run', async () => {
  const customer = await customerWithCard();
  const METHODS = 450;
  const [row] = await world.rows<{ id: bigint }>(sql`SELECT id FROM payment_gateway WHERE uid = ${gateway.uid}`);
  const uids = Array.from({ length: METHODS }, () => newUid());
  const sealed = uids.map((uid) => sealMethod(admin.installation.secret, uid, { card: uid }));
  await admin.db.execute(sql`
    INSERT INTO payment_method (customer_id, uid, gateway_id, title, info, sealed_data, digest)
    SELECT ${customer.id}, m.uid, ${row?.id}, 'Visa', '', m.sealed, m.uid FROM unnest(${uids}::text[], ${sealed}::bytea[]) AS m(uid, sealed)`);
  await deleteGateway(admin, { uid: gateway.uid });
  await close();
  expect(await isThere()).toBe(true);
  await close();
  expect(await isThere()).toBe(false);
  expect(new Set(vendor.removed).size).toBe(METHODS + 1);
});

test('in a copy that is on hold it stays', async () => {
  await customerWithCard();
  await admin.db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-03-01T10:00:00Z"}')`,
  );
  await expect(deleteGateway(admin, { uid: gateway.uid }))
    .rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' })
    .finally(() => admin.db.execute(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`));
});
