/**
 * Random histories of payments through a gateway, with processes that die at any statement, against a reference of the books: all money that
 * moved at the vendor, or was recorded by hand, has paid one invoice once or became credit, and each plan is the one that was paid last.
 */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { cancelIntent } from '../../../src/domain/billing/cancel-intent.ts';
import { changePlan } from '../../../src/domain/billing/change-plan.ts';
import { chargeIntent } from '../../../src/domain/billing/charge-intent.ts';
import { createGateway } from '../../../src/domain/billing/gateways/save-gateway.ts';
import { openCheckout, saveReference } from '../../../src/domain/billing/open-checkout.ts';
import { approvePayment, claimPayment, recordPayment, rejectPayment } from '../../../src/domain/billing/pay-invoice.ts';
import { renewSubscriptions } from '../../../src/domain/billing/renew-subscriptions.ts';
import { startPayment } from '../../../src/domain/billing/start-payment.ts';
import { syncPayments } from '../../../src/domain/billing/sync-payments.ts';
import type { Context } from '../../../src/domain/context.ts';
import { ExpectedError } from '../../../src/lib/errors.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { openBillingWorld } from '../../support/billing-world.ts';
import { PayVendor, usePayGateway, type VendorObject } from '../../support/pay-gateway.ts';
import { drawn, fc } from '../../support/property.ts';

const START = Date.parse('2026-01-31T10:00:00.000Z');
const HOUR_MS = 3_600_000;
const DIED = 'The process died here.';
const world = await openBillingWorld(new Date(START).toISOString());
const { admin } = world;
let vendor = new PayVendor();
usePayGateway(world.hooks, () => vendor);
const gateway = await createGateway(admin, { name: 'Card', type: 'acme-pay', settings: { key: 'sk_1' } });
const plans = [await world.newPlan('10.01'), await world.newPlan('33.33', { frequencyUnit: 'week' })];

type Customer = Awaited<ReturnType<typeof world.newCustomer>>;

interface Act {
  readonly kind: keyof typeof acts;
  readonly plan: number;
  readonly hours: number;
  /** The process dies at this statement of a transaction; 0: it does not. */
  readonly diesAt: number;
}

interface Scene {
  readonly customer: Customer;
  /** The program, whose process may die. */
  readonly system: Context;
}

const acts = {
  change: ({ customer: { ctx }, system }: Scene, plan: string) =>
    changePlan({ ...ctx, database: system.database }, { planUid: plan }),
  begin: async ({ customer, system }: Scene) => begin(customer, system),
  pay: async () => settle((object) => void (object.status = 'SUCCEEDED')),
  payAndSave: async () => settle((object) => void Object.assign(object, { status: 'SUCCEEDED', saves: true })),
  decline: async () => settle((object) => void (object.status = 'FAILED')),
  expire: async () => settle((object) => void (object.status = 'CANCELLED')),
  /** A bank that says no first. */
  payAfterAll: async () =>
    void [...vendor.objects.values()].filter(isEnded).map((object) => (object.status = 'SUCCEEDED')),
  nextChargeFails: async () => void (vendor.chargeResult = 'FAILED'),
  nextChargeAsks: async () => void (vendor.chargeResult = 'REQUIRES_ACTION'),
  nextChargePays: async () => void (vendor.chargeResult = 'SUCCEEDED'),
  claim: async ({ customer }: Scene) => claimPayment(customer.ctx, { invoiceUid: await last('invoice', customer) }),
  approve: async ({ customer }: Scene) => approvePayment(admin, { uid: await last('payment_intent', customer) }),
  reject: async ({ customer }: Scene) => rejectPayment(admin, { uid: await last('payment_intent', customer) }),
  record: async ({ customer }: Scene) => recordPayment(admin, { invoiceUid: await last('invoice', customer) }),
  tick: ({ system }: Scene) => renewSubscriptions(system),
  sync: ({ system }: Scene) => syncPayments(system),
  charge: async ({ customer, system }: Scene) => {
    for (const uid of await intentsOf(customer, sql`method_id IS NOT NULL`))
      await chargeIntent(system, { intentUid: uid });
  },
  chargeAndLoseTheAnswer: async ({ customer, system }: Scene) => {
    vendor.afterCharge = () => {
      throw new GatewayError('unavailable', 'The connection was cut.');
    };
    try {
      for (const uid of await intentsOf(customer, sql`method_id IS NOT NULL`))
        await chargeIntent(system, { intentUid: uid });
    } finally {
      vendor.afterCharge = () => undefined;
    }
  },
  cancelJobs: async ({ customer, system }: Scene) => {
    for (const uid of await intentsOf(customer, sql`status = 'CANCELLED' AND reference IS NOT NULL`))
      await cancelIntent(system, { intentUid: uid });
  },
};

const isEnded = ({ status }: VendorObject) => status === 'FAILED' || status === 'CANCELLED';

/** What the payer does with what it was led to; a saved card is charged by the program. */
async function settle(act: (object: VendorObject) => void): Promise<void> {
  const open = [...vendor.objects.values()].filter(({ status, id }) => status === 'PENDING' && shown.has(id));
  for (const object of open.slice(-1)) act(object);
}
const shown = new Set<string>();

async function begin(customer: Customer, system: Context): Promise<void> {
  const given = { invoiceUid: await last('invoice', customer), gatewayUid: gateway.uid };
  const { path } = await startPayment({ ...customer.ctx, database: system.database }, given);
  const checkout = await openCheckout(system, 'acme/pay', path.split('/').at(-1) ?? '');
  if (!checkout) return;
  const { uid: intentUid, amountMinor, currencyCode } = checkout.intent;
  const object = vendor.create(`checkout-${intentUid}`, { intentUid, amountMinor, currencyCode });
  if (await saveReference(system, 'acme/pay', { intentUid, reference: object.id })) shown.add(object.id);
}

async function last(table: 'invoice' | 'payment_intent', { id }: Customer): Promise<string> {
  const from = table === 'invoice' ? sql`invoice` : sql`payment_intent`;
  const [row] = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM ${from} WHERE customer_id = ${id} ORDER BY id DESC LIMIT 1`,
  );
  return row?.uid ?? '0000000000000';
}

async function intentsOf({ id }: Customer, where: ReturnType<typeof sql>): Promise<string[]> {
  const rows = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM payment_intent WHERE customer_id = ${id} AND ${where} ORDER BY id`,
  );
  return rows.map(({ uid }) => uid);
}

/** The program in a process that dies at the statement. */
function dyingAt(statement: number): Context {
  let statements = 0;
  const count = () => {
    statements += 1;
    if (statements === statement) throw new Error(DIED);
  };
  const database: typeof admin.database = {
    ...admin.database,
    transaction: (work) =>
      admin.database.transaction((tx) =>
        work({
          ...tx,
          query: (...args) => (count(), tx.query(...args)),
          execute: (...args) => (count(), tx.execute(...args)),
        }),
      ),
  };
  return { ...admin, viewer: null, database };
}

/** The books by the reference: what moved, and where it went. */
async function booksOf({ id }: Customer) {
  const [row] = await world.rows<{ offline: bigint; paid: bigint; credited: bigint }>(sql`
    SELECT (SELECT coalesce(sum(amount_minor), 0)::bigint FROM payment_intent
             WHERE customer_id = ${id} AND method = 'offline' AND status = 'SUCCEEDED') AS offline,
           (SELECT coalesce(sum(total_minor), 0)::bigint FROM invoice WHERE customer_id = ${id} AND status = 'paid') AS paid,
           (SELECT coalesce(sum(amount_minor), 0)::bigint FROM subscription_event
             WHERE customer_id = ${id} AND event = 'payment_credited') AS credited`);
  const moved = [...vendor.objects.values()].filter(({ status }) => status === 'SUCCEEDED');
  const atVendor = moved.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  return { came: atVendor + (row?.offline ?? 0n), went: (row?.paid ?? 0n) + (row?.credited ?? 0n) };
}

function faultsOf({ id }: Customer) {
  return world.rows<{ fault: string }>(sql`
    SELECT 'an invoice paid twice' AS fault FROM payment_intent p WHERE p.customer_id = ${id} AND p.status = 'SUCCEEDED' AND p.method = 'offline'
     GROUP BY p.invoice_id HAVING count(*) > 1
    UNION ALL SELECT 'two open tries' FROM payment_intent p WHERE p.customer_id = ${id}
       AND p.status IN ('PENDING', 'REQUIRES_ACTION', 'AWAITING_ADMIN_APPROVAL') GROUP BY p.invoice_id HAVING count(*) > 1
    UNION ALL SELECT 'a payment without its invoice' FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
     WHERE p.customer_id = ${id} AND p.status = 'SUCCEEDED' AND i.status <> 'paid'
    UNION ALL SELECT 'another plan than was paid last' FROM subscription s
     WHERE s.customer_id = ${id} AND s.status IN ('active', 'cancelled') AND s.plan_id <> (
       SELECT i.plan_id FROM invoice i WHERE i.customer_id = ${id} AND i.subscription_id = s.id AND i.status = 'paid'
        ORDER BY i.paid_at DESC, i.id DESC LIMIT 1)
    UNION ALL SELECT 'credit without its entries' FROM credit_balance b WHERE customer_id = ${id} AND balance_minor <> (
       SELECT coalesce(sum(amount_minor), 0) FROM credit_entry e
        WHERE e.customer_id = b.customer_id AND e.currency_code = b.currency_code)`);
}

const kinds = Object.keys(acts) as (keyof typeof acts)[];
const act = fc.record<Act>({
  kind: fc.oneof(
    { arbitrary: fc.constantFrom('change', 'begin', 'pay', 'payAndSave', 'sync', 'tick', 'charge'), weight: 3 },
    { arbitrary: fc.constantFrom(...kinds), weight: 2 },
  ),
  plan: fc.nat(plans.length - 1),
  hours: fc.oneof(fc.nat(2), fc.nat(30), fc.nat(800)),
  diesAt: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, { arbitrary: fc.integer({ min: 1, max: 25 }), weight: 1 }),
});

/** Of an act of somebody who may be refused, of a vendor that is cut off, or of the process. */
function isMeant(error: unknown): boolean {
  return (
    error instanceof ExpectedError ||
    error instanceof GatewayError ||
    (error instanceof Error && error.message === DIED)
  );
}

test('the books are right after any history', async () => {
  let [moves, late] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 30 }), async (story) => {
      vendor = new PayVendor();
      shown.clear();
      let now = START;
      world.setClock(new Date(now).toISOString());
      const customer = await world.newCustomer();
      for (const { kind, plan, hours, diesAt } of story) {
        now += hours * HOUR_MS;
        world.setClock(new Date(now).toISOString());
        await Promise.resolve(acts[kind]({ customer, system: dyingAt(diesAt) }, plans[plan]?.uid ?? '')).catch(
          (error: unknown) => {
            if (!isMeant(error)) throw error;
          },
        );
        expect(await faultsOf(customer)).toEqual([]);
      }
      // The program runs again, and asks about everything that it may not know yet.
      world.setClock(new Date(now + HOUR_MS).toISOString());
      await admin.db.execute(
        sql`UPDATE payment_intent SET next_sync_at = created_at WHERE customer_id = ${customer.id} AND gateway_id = (SELECT id FROM payment_gateway WHERE uid = ${gateway.uid})`,
      );
      await syncPayments({ ...admin, viewer: null });
      const { came, went } = await booksOf(customer);
      expect(went).toBe(came);
      expect(await faultsOf(customer)).toEqual([]);
      if (came > 0n) moves += 1;
      late += (await intentsOf(customer, sql`late_paid_at IS NOT NULL`)).length;
      await admin.db.execute(sql`UPDATE subscription SET next_step_at = NULL WHERE customer_id = ${customer.id}`);
      await admin.db.execute(sql`UPDATE payment_intent SET next_sync_at = NULL WHERE customer_id = ${customer.id}`);
    }),
    { numRuns: drawn(200) },
  );
  // Otherwise it shows nothing.
  expect(moves).toBeGreaterThan(20);
  expect(late).toBeGreaterThan(0);
});
