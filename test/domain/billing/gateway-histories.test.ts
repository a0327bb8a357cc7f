/**
 * Random histories of payments through a gateway, with processes that die at any statement, commit and call of the vendor, against a reference of
 * the books: all money that moved at the vendor, or was recorded by hand, has paid one invoice once or became credit, and each plan is the one that
 * was paid last. The histories have successes, declines, challenges, abandoned checkouts, bank debits, late successes, money that is paid back
 * before or after it was seen, renewals, and changes of plan.
 */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { cancelIntent } from '../../../src/domain/billing/payments/cancel-intent.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { createGateway } from '../../../src/domain/billing/gateways/save-gateway.ts';
import { openCheckout, saveReference } from '../../../src/domain/billing/payments/open-checkout.ts';
import {
  approvePayment,
  claimPayment,
  recordPayment,
  rejectPayment,
} from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { startPayment } from '../../../src/domain/billing/payments/start-payment.ts';
import { syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import type { Context } from '../../../src/domain/context.ts';
import { ExpectedError } from '../../../src/lib/errors.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { openBillingWorld } from '../../support/billing-world.ts';
import { mortalProcess, WatchedVendor, type MortalProcess } from '../../support/mortal-process.ts';
import { usePayGateway, type VendorObject } from '../../support/pay-gateway.ts';
import { faultsInBooks, totalsOf } from '../../support/payment-books.ts';
import { drawn, fc } from '../../support/property.ts';

const START = Date.parse('2026-01-31T10:00:00.000Z');
const HOUR_MS = 3_600_000;
/** They take a minute; a machine that does other things too, and a history that is made shorter after a fault, may need more. */
const RUN_MS_MAX = 1_800_000;
const world = await openBillingWorld(new Date(START).toISOString());
const { admin } = world;
let vendor = new WatchedVendor();
usePayGateway(world.hooks, () => vendor);
const gateway = await createGateway(admin, { name: 'Card', type: 'acme-pay', settings: { key: 'sk_1' } });
const plans = [await world.newPlan('10.01'), await world.newPlan('33.33', { frequencyUnit: 'week' })];

type Customer = Awaited<ReturnType<typeof world.newCustomer>>;

interface Act {
  readonly kind: keyof typeof acts;
  readonly plan: number;
  readonly hours: number;
  /** The process dies at this step; 0: it does not. */
  readonly diesAt: number;
}

interface Scene {
  readonly customer: Customer;
  /** The program, whose process may die. */
  readonly system: Context;
}

const acts = {
  change: ({ customer: { ctx }, system }: Scene, plan: string) =>
    changePlan({ ...ctx, db: system.db, database: system.database }, { planUid: plan }),
  begin: async ({ customer, system }: Scene) => begin(customer, system),
  /** The button, and no more. */
  abandon: async ({ customer, system }: Scene) => start(customer, system),
  pay: async () => settle((object) => void (object.status = 'SUCCEEDED')),
  payAndSave: async () => settle((object) => void Object.assign(object, { status: 'SUCCEEDED', saves: true })),
  decline: async () => settle((object) => void (object.status = 'FAILED')),
  challenge: async () => settle((object) => void (object.status = 'REQUIRES_ACTION')),
  debit: async () => settle((object) => void (object.isProcessing = true)),
  expire: async () => settle((object) => void (object.status = 'CANCELLED')),
  /** A bank that says no first. */
  payAfterAll: async () =>
    void [...vendor.objects.values()].filter(isEnded).map((object) => (object.status = 'SUCCEEDED')),
  /** What was paid last is paid back, in part or whole. */
  refund: async (_: Scene, __: string, plan: number) => {
    const paid = [...vendor.objects.values()].filter(({ status }) => status === 'SUCCEEDED').at(-1);
    if (paid) paid.refundedMinor = plan === 0 && paid.refundedMinor === 0n ? paid.amountMinor / 2n : paid.amountMinor;
  },
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
  // A challenged charge of a saved card is answered at the bank.
  const open = [...vendor.objects.values()].filter(
    ({ status, id }) => (status === 'PENDING' && shown.has(id)) || status === 'REQUIRES_ACTION',
  );
  for (const object of open.slice(-1)) act(object);
}
const shown = new Set<string>();

async function start(customer: Customer, { db, database }: Context) {
  const given = { invoiceUid: await last('invoice', customer), gatewayUid: gateway.uid };
  return startPayment({ ...customer.ctx, db, database }, given);
}

async function begin(customer: Customer, system: Context): Promise<void> {
  const { path } = await start(customer, system);
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

/** What had been paid back, by object of the vendor, when the program first knew that it was paid. */
const known = new Map<string, bigint>();

async function noteKnown({ id }: Customer): Promise<void> {
  const paid = await world.rows<{ reference: string }>(
    sql`SELECT reference FROM payment_intent WHERE customer_id = ${id} AND reference IS NOT NULL AND (status = 'SUCCEEDED' OR late_paid_at IS NOT NULL)`,
  );
  for (const { reference } of paid)
    if (!known.has(reference)) known.set(reference, vendor.objects.get(reference)?.refundedMinor ?? 0n);
}

/** The books by the reference: what came, less what had gone back before anybody knew, and where it went. */
async function expectBooks(customer: Customer): Promise<bigint> {
  const moved = [...vendor.objects.values()].filter(({ status }) => status === 'SUCCEEDED');
  expect(moved.map(({ id }) => id).sort()).toEqual([...known.keys()].sort());
  const came = moved.reduce((sum, { id, amountMinor }) => sum + amountMinor - (known.get(id) ?? 0n), 0n);
  const { offline, paid, credited, refunded, refundsShown } = await totalsOf(admin.db, customer.id);
  expect(paid + credited).toBe(came + offline);
  const paidBack = moved.reduce((sum, { refundedMinor }) => sum + refundedMinor, 0n);
  expect(refunded).toBe(paidBack);
  expect(refundsShown).toBe(paidBack);
  return came;
}

const kinds = Object.keys(acts) as (keyof typeof acts)[];
const act = fc.record<Act>({
  kind: fc.oneof(
    { arbitrary: fc.constantFrom('change', 'begin', 'pay', 'payAndSave', 'sync', 'tick', 'charge'), weight: 3 },
    { arbitrary: fc.constantFrom(...kinds), weight: 2 },
  ),
  plan: fc.nat(plans.length - 1),
  hours: fc.oneof(fc.nat(2), fc.nat(30), fc.nat(800)),
  diesAt: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, { arbitrary: fc.integer({ min: 1, max: 40 }), weight: 1 }),
});

/** Of an act of somebody who may be refused, of a vendor that is cut off, or of a process that has died. */
function isMeant(error: unknown, { isDead }: MortalProcess): boolean {
  return isDead() || error instanceof ExpectedError || error instanceof GatewayError;
}

/** One act, by a process that may die in it. */
async function play(customer: Customer, { kind, plan, diesAt }: Act): Promise<boolean> {
  const process = mortalProcess(admin, diesAt);
  vendor.step = process.step;
  try {
    await acts[kind]({ customer, system: process.ctx }, plans[plan]?.uid ?? '', plan);
  } catch (error) {
    if (!isMeant(error, process)) throw error;
  } finally {
    vendor.step = () => undefined;
  }
  return process.isDead();
}

test(
  'the books are right after any history',
  async () => {
    const seen = { moves: 0, late: 0, deaths: 0, refunds: 0, early: 0, challenges: 0, renewals: 0, switches: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 30 }), async (story) => {
        vendor = new WatchedVendor();
        shown.clear();
        known.clear();
        let now = START;
        world.setClock(new Date(now).toISOString());
        const customer = await world.newCustomer();
        for (const one of story) {
          now += one.hours * HOUR_MS;
          world.setClock(new Date(now).toISOString());
          if (await play(customer, one)) seen.deaths += 1;
          await noteKnown(customer);
          expect(await faultsInBooks(admin.db, customer.id)).toEqual([]);
        }
        // The program runs again, and asks about everything that it may not know yet.
        world.setClock(new Date(now + HOUR_MS).toISOString());
        await admin.db.execute(
          sql`UPDATE payment_intent SET next_sync_at = created_at WHERE customer_id = ${customer.id} AND gateway_id = (SELECT id FROM payment_gateway WHERE uid = ${gateway.uid})`,
        );
        await syncPayments({ ...admin, viewer: null });
        await noteKnown(customer);
        if ((await expectBooks(customer)) > 0n) seen.moves += 1;
        expect(await faultsInBooks(admin.db, customer.id)).toEqual([]);
        await count(customer, seen);
        await admin.db.execute(sql`UPDATE subscription SET next_step_at = NULL WHERE customer_id = ${customer.id}`);
        await admin.db.execute(sql`UPDATE payment_intent SET next_sync_at = NULL WHERE customer_id = ${customer.id}`);
      }),
      { numRuns: drawn(200) },
    );
    // Otherwise it shows nothing.
    expect(seen.moves).toBeGreaterThan(20);
    for (const [name, times] of Object.entries(seen)) expect(times, name).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);

/** Whether what the histories are for happened in this one. */
async function count({ id }: Customer, seen: Record<string, number>): Promise<void> {
  const [row] = await world.rows<Record<string, number>>(sql`
    SELECT (SELECT count(*)::int FROM payment_intent WHERE customer_id = ${id} AND late_paid_at IS NOT NULL) AS late,
           (SELECT count(*)::int FROM payment_intent WHERE customer_id = ${id} AND refunded_minor > 0) AS refunds,
           (SELECT count(*)::int FROM subscription_event WHERE customer_id = ${id} AND event = 'renewed') AS renewals,
           (SELECT count(*)::int FROM subscription_event WHERE customer_id = ${id} AND event = 'plan_changed') AS switches`);
  for (const [name, times] of Object.entries(row ?? {})) seen[name] = (seen[name] ?? 0) + times;
  seen['early'] = (seen['early'] ?? 0) + [...known.values()].filter((minor) => minor > 0n).length;
  const challenged = [...vendor.objects.values()].filter(({ status }) => status === 'REQUIRES_ACTION').length;
  seen['challenges'] = (seen['challenges'] ?? 0) + challenged;
}
