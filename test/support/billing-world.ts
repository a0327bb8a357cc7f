/** A house with plans, customers and a clock that stands still, for tests of money. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { changePlan } from '../../src/domain/billing/subscriptions/change-plan.ts';
import { createPlan } from '../../src/domain/billing/plans/create-plan.ts';
import { recordPayment } from '../../src/domain/billing/invoices/pay-invoice.ts';
import type { Plan, PlanInput } from '../../src/domain/billing/plans/plan.ts';
import type { Context } from '../../src/domain/context.ts';
import type { HookBus } from '../../src/plugin-host/hook-bus.ts';
import { hooksFollower } from '../../src/workers/fire-hooks.ts';
import { caughtUp, startFollowers } from './event-followers.ts';
import { createTenant } from './tenant.ts';
import { createTestContext } from './test-context.ts';
import { withHooks } from './with-hooks.ts';

export interface BillingWorld {
  /** As an administrator. */
  readonly admin: Context;
  readonly hooks: HookBus;
  /** Sets the clock; every later act happens then. */
  setClock(at: string): void;
  newPlan(price: string, changes?: PlanInput): Promise<Plan>;
  newCustomer(): Promise<{ ctx: Context; id: bigint; uid: string }>;
  /** Hooks that were fired for all that has happened so far, in order: `plan_changed <old> <new>`, `subscription_terminated <uid>`. */
  fired(): Promise<string[]>;
  rows<Row extends object>(statement: ReturnType<typeof sql>): Promise<Row[]>;
}

/** Opens it on a database of its own; the clock begins at `at`. */
export async function openBillingWorld(at: string): Promise<BillingWorld> {
  let now = new Date(at);
  const base = await createTestContext({ clock: { now: () => now } });
  const house = await createTenant(base);
  if (!house.viewer) throw new Error('No administrator.');
  const admin: Context = { ...house, viewer: { ...house.viewer, isAdmin: true } };
  const fired: string[] = [];
  withHooks(base.hooks, {
    boot(hooks) {
      hooks.on('plan_changed', ({ oldPlanUid, newPlanUid }) => {
        fired.push(`plan_changed ${oldPlanUid} ${newPlanUid}`);
      });
      hooks.on('subscription_terminated', ({ uid }) => {
        fired.push(`subscription_terminated ${uid}`);
      });
    },
  });
  await startFollowers(base, [hooksFollower(base)]);
  return {
    admin,
    hooks: base.hooks,
    async fired() {
      await caughtUp(base.db, 'hooks');
      return fired;
    },
    setClock(moment) {
      now = new Date(moment);
    },
    newPlan: (price, changes = {}) =>
      createPlan(admin, {
        name: `Plan at ${price}`,
        price,
        currencyCode: 'EUR',
        frequencyAmount: 1,
        frequencyUnit: 'month',
        ...changes,
      }),
    async newCustomer() {
      const ctx = await createTenant(base, { hasPlan: false });
      const id = ctx.viewer?.customerId ?? 0n;
      const [row] = await queryRows<{ uid: string }>(base.db, sql`SELECT uid FROM customer WHERE id = ${id}`);
      return { ctx, id, uid: row?.uid ?? '' };
    },
    rows: (statement) => queryRows(base.db, statement),
  };
}

/** A new customer who chose this plan, and has paid for it where it costs anything. */
export async function customerWith(world: BillingWorld, { uid: planUid }: Plan) {
  const customer = await world.newCustomer();
  const { due } = await changePlan(customer.ctx, { planUid });
  if (due) await recordPayment(world.admin, { invoiceUid: due.uid });
  return customer;
}

export interface Told {
  readonly event: string;
  readonly amount: bigint | null;
  readonly invoiceUid: string | null;
  readonly note: string | null;
}

/** A customer's renewal history, over all its subscriptions. */
export function historyOf(world: BillingWorld, customerId: bigint): Promise<Told[]> {
  return world.rows<Told>(sql`
    SELECT event, amount_minor AS amount, invoice_uid AS "invoiceUid", note FROM subscription_event
     WHERE customer_id = ${customerId} ORDER BY id`);
}

/** The names of it. */
export async function eventsOf(world: BillingWorld, customerId: bigint): Promise<string[]> {
  return (await historyOf(world, customerId)).map(({ event }) => event);
}

export interface InvoiceRow {
  readonly uid: string;
  readonly kind: string;
  readonly status: string;
  readonly total: bigint;
  readonly startsAt: Date | null;
  readonly lines: string[];
}

export function invoicesOf(world: BillingWorld, customerId: bigint): Promise<InvoiceRow[]> {
  return world.rows<InvoiceRow>(sql`
    SELECT uid, kind, status, total_minor AS total, period_starts_at AS "startsAt",
           (SELECT array_agg(l.kind || ' ' || l.amount_minor ORDER BY no) FROM invoice_line l
             WHERE l.customer_id = i.customer_id AND l.invoice_id = i.id) AS lines
      FROM invoice i WHERE customer_id = ${customerId} ORDER BY id`);
}

export interface SubscriptionRow {
  readonly uid: string;
  readonly status: string;
  readonly planId: bigint;
  readonly periodEndsAt: Date | null;
  readonly endsAt: Date | null;
}

export function subscriptionsOf(world: BillingWorld, customerId: bigint): Promise<SubscriptionRow[]> {
  return world.rows<SubscriptionRow>(sql`
    SELECT uid, status, plan_id AS "planId", current_period_ends_at AS "periodEndsAt", ends_at AS "endsAt"
      FROM subscription WHERE customer_id = ${customerId} ORDER BY id`);
}

/** What the customer has in hand, with the promise that its entries add up to it. */
export async function creditOf(world: BillingWorld, customerId: bigint, currencyCode = 'EUR'): Promise<bigint> {
  const [row] = await world.rows<{ balance: bigint; entries: bigint }>(sql`
    SELECT balance_minor AS balance, (SELECT sum(amount_minor)::bigint FROM credit_entry e
             WHERE e.customer_id = b.customer_id AND e.currency_code = b.currency_code) AS entries
      FROM credit_balance b WHERE customer_id = ${customerId} AND currency_code = ${currencyCode}`);
  if (!row) return 0n;
  if (row.balance !== row.entries) throw new Error(`Balance ${row.balance}, entries ${row.entries}.`);
  return row.balance;
}
