/**
 * Any acts in any order, time passing between them: whatever is refused is refused on purpose, and after every act the
 * books are right. The acts are drawn by fast-check, so a fault comes back as the shortest story that shows it.
 */
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import {
  activateSubscription,
  cancelSubscription,
  resumeSubscription,
  terminateSubscription,
} from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { assignPlan, createSubscription } from '../../../src/domain/billing/subscriptions/create-subscription.ts';
import {
  approvePayment,
  claimPayment,
  recordPayment,
  rejectPayment,
} from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { updateSubscription } from '../../../src/domain/billing/subscriptions/update-subscription.ts';
import { ExpectedError } from '../../../src/lib/errors.ts';
import { openBillingWorld } from '../../support/billing-world.ts';

const START = Date.parse('2026-01-31T10:00:00.000Z');
const HOUR_MS = 3_600_000;
const world = await openBillingWorld(new Date(START).toISOString());
const { admin } = world;
const plans = [
  await world.newPlan('0'),
  await world.newPlan('10.01'),
  await world.newPlan('33.33', { frequencyUnit: 'week' }),
  await world.newPlan('900', { currencyCode: 'JPY' }),
];

type Customer = Awaited<ReturnType<typeof world.newCustomer>>;
interface Act {
  readonly kind: keyof typeof acts;
  readonly plan: number;
  readonly hours: number;
}

const acts = {
  change: ({ ctx }: Customer, plan: string) => changePlan(ctx, { planUid: plan }),
  create: ({ uid }: Customer, plan: string) =>
    createSubscription(admin, { customerUid: uid, planUid: plan, disableBilling: false }),
  assign: ({ uid }: Customer, plan: string) => assignPlan(admin, { customerUid: uid, planUid: plan }),
  pay: async (customer: Customer) => recordPayment(admin, { invoiceUid: await last('invoice', customer) }),
  claim: async (customer: Customer) => claimPayment(customer.ctx, { invoiceUid: await last('invoice', customer) }),
  approve: async (customer: Customer) => approvePayment(admin, { uid: await last('payment_intent', customer) }),
  reject: async (customer: Customer) => rejectPayment(admin, { uid: await last('payment_intent', customer) }),
  cancel: async (customer: Customer) => cancelSubscription(customer.ctx, { uid: await last('subscription', customer) }),
  resume: async (customer: Customer) => resumeSubscription(customer.ctx, { uid: await last('subscription', customer) }),
  activate: async (customer: Customer) => activateSubscription(admin, { uid: await last('subscription', customer) }),
  terminate: async (customer: Customer) => terminateSubscription(admin, { uid: await last('subscription', customer) }),
  extend: async (customer: Customer) =>
    updateSubscription(admin, {
      uid: await last('subscription', customer),
      currentPeriodEndsAt: new Date(admin.clock.now().getTime() + 100 * HOUR_MS),
    }),
  tick: () => renewSubscriptions({ ...admin, viewer: null }),
};

async function last(table: 'invoice' | 'payment_intent' | 'subscription', { id }: Customer): Promise<string> {
  const from = { invoice: sql`invoice`, payment_intent: sql`payment_intent`, subscription: sql`subscription` }[table];
  const [row] = await world.rows<{ uid: string }>(
    sql`SELECT uid FROM ${from} WHERE customer_id = ${id} ORDER BY id DESC LIMIT 1`,
  );
  return row?.uid ?? '0000000000000';
}

/** What must hold of a customer's rows at any moment; each row of the answer is a fault. */
function faultsOf({ id }: Customer) {
  return world.rows<{ fault: string }>(sql`
    SELECT 'several running' AS fault FROM subscription WHERE customer_id = ${id} AND status IN ('active', 'cancelled')
     HAVING count(*) > 1
    UNION ALL SELECT 'several pending' FROM subscription WHERE customer_id = ${id} AND status = 'pending' HAVING count(*) > 1
    UNION ALL SELECT 'running without a period' FROM subscription
     WHERE customer_id = ${id} AND status IN ('active', 'cancelled') AND (current_period_ends_at IS NULL OR next_step_at IS NULL)
    UNION ALL SELECT 'cancelled without an end' FROM subscription
     WHERE customer_id = ${id} AND status = 'cancelled' AND (ends_at IS NULL OR ends_at > current_period_ends_at)
    UNION ALL SELECT 'ended, but owing or due' FROM subscription s
     WHERE customer_id = ${id} AND status = 'ended' AND (next_step_at IS NOT NULL OR EXISTS (
       SELECT 1 FROM invoice i WHERE i.customer_id = ${id} AND i.subscription_id = s.id AND i.status = 'pending'))
    UNION ALL SELECT 'pending without an invoice' FROM subscription s
     WHERE customer_id = ${id} AND status = 'pending' AND NOT EXISTS (
       SELECT 1 FROM invoice i WHERE i.customer_id = ${id} AND i.subscription_id = s.id AND i.status = 'pending')
    UNION ALL SELECT 'grace without an invoice' FROM subscription s
     WHERE customer_id = ${id} AND grace_ends_at IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM invoice i WHERE i.customer_id = ${id} AND i.subscription_id = s.id AND i.status = 'pending')
    UNION ALL SELECT 'lines that do not add up' FROM invoice i WHERE customer_id = ${id} AND total_minor <> (
       SELECT sum(amount_minor) FROM invoice_line l WHERE l.customer_id = ${id} AND l.invoice_id = i.id)
    UNION ALL SELECT 'a payment without its invoice' FROM payment_intent p JOIN invoice i
        ON i.customer_id = p.customer_id AND i.id = p.invoice_id
     WHERE p.customer_id = ${id} AND ((p.status = 'SUCCEEDED') AND i.status <> 'paid'
        OR p.status = 'AWAITING_ADMIN_APPROVAL' AND i.status <> 'pending')
    UNION ALL SELECT 'credit out of nothing: ' || currency || ' ' || sum(minor) FROM (
       SELECT currency_code AS currency, balance_minor AS minor FROM credit_balance WHERE customer_id = ${id}
       UNION ALL SELECT credit_kept_code, -credit_kept_minor FROM invoice
        WHERE customer_id = ${id} AND status = 'paid' AND credit_kept_code IS NOT NULL
       UNION ALL SELECT currency_code, credit_used_minor FROM invoice WHERE customer_id = ${id} AND status <> 'void'
     ) moves GROUP BY currency HAVING sum(minor) <> 0
    UNION ALL SELECT 'credit without its entries' FROM credit_balance b WHERE customer_id = ${id} AND balance_minor <> (
       SELECT coalesce(sum(amount_minor), 0) FROM credit_entry e
        WHERE e.customer_id = ${id} AND e.currency_code = b.currency_code)
    UNION ALL SELECT 'more credit than money came in: ' || b.currency_code FROM credit_balance b
     WHERE customer_id = ${id} AND balance_minor > (SELECT coalesce(sum(total_minor), 0) FROM invoice i
        WHERE i.customer_id = ${id} AND i.status = 'paid' AND i.currency_code = b.currency_code)`);
}

/** Whoever asked for another plan while his renewal was due, and took that back, had nothing to pay until he was ended. */
const FOUND: Act[] = (
  [
    ['change', 1, 0],
    ['pay', 0, 0],
    ['tick', 0, 672],
    ['change', 2, 0],
    ['change', 1, 0],
    ['pay', 0, 0],
  ] as const
).map(([kind, plan, hours]) => ({ kind, plan, hours }));

/** Changing and paying most of the time: they move the money. */
const kinds = Object.keys(acts) as (keyof typeof acts)[];
const act = fc.record<Act>({
  kind: fc.oneof(
    { arbitrary: fc.constantFrom('change', 'pay'), weight: 3 },
    { arbitrary: fc.constantFrom(...kinds), weight: 2 },
  ),
  plan: fc.nat(plans.length - 1),
  hours: fc.oneof(fc.nat(12), fc.nat(100), fc.nat(2_000)),
});

test('the books are right after anything', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 30 }), async (story) => {
      let now = START;
      world.setClock(new Date(now).toISOString());
      const customer = await world.newCustomer();
      for (const { kind, plan, hours } of story) {
        now += hours * HOUR_MS;
        world.setClock(new Date(now).toISOString());
        try {
          const result = await acts[kind](customer, plans[plan]?.uid ?? '');
          if (kind === 'tick') expect(result).toMatchObject({ failed: 0 });
        } catch (error) {
          if (!(error instanceof ExpectedError)) throw error;
        }
        expect(await faultsOf(customer)).toEqual([]);
      }
      // What this story left behind is not the next one's.
      await admin.db.execute(sql`UPDATE subscription SET next_step_at = NULL WHERE customer_id = ${customer.id}`);
    }),
    { numRuns: 30, examples: [[FOUND]] },
  );
});
