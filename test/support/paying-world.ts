/**
 * Customers who pay with Stripe and PayPal, whose doubles are in this process, on an installation whose programs are processes of their own that
 * can be killed. A web server in this process shows what there is; it works on no jobs.
 */
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { freePort } from './free-port.ts';
import { enqueue } from '../../src/jobs/define-job.ts';
import { chargeIntentJob, renewSubscriptionsJob, syncPaymentsJob } from '../../src/jobs/billing-jobs.ts';
import { afterFile } from './after-file.ts';
import { installBundled } from './bundled-plugin.ts';
import { gatewayCustomers, type DueCustomer } from './gateway-customers.ts';
import type { KillAt } from './kill-at-statement.ts';
import { field } from './mail-world.ts';
import { openRestApp } from './open-rest-app.ts';
import { PAYPAL_ID, PAYPAL_SECRET, PayPalVendor } from './paypal-vendor.ts';
import { pluginClient } from './plugin-client.ts';
import { newDataDir } from './plugin-folder.ts';
import { startProgram, type Program } from './program.ts';
import { STRIPE_KEY, StripeDouble } from './stripe-double.ts';
import { testInstallation } from './test-context.ts';
import { createTestDatabase } from './test-database.ts';

/** Whoever else works on this machine may make it slow. */
export const WAIT = { timeout: 120_000, interval: 200 };
/** Of the plan, in cents. */
export const PRICE = 1_990n;

export type VendorName = 'stripe' | 'paypal';

const KILLER = pathToFileURL(path.resolve(import.meta.dirname, 'kill-at-statement.ts')).href;

export async function openPayingWorld() {
  const { url } = await createTestDatabase();
  const dataDir = newDataDir();
  const [stripe, paypal] = [await new StripeDouble().start(), await new PayPalVendor().start()];
  const hosts = { stripe: stripe.host, paypal: paypal.host };
  installBundled(dataDir, 'stripe', {
    ...{ addresses: { 'https://api.stripe.com': `http://${stripe.host}` } },
    ...{ hosts: [stripe.host], browserHosts: [stripe.host] },
  });
  installBundled(dataDir, 'paypal', {
    addresses: {
      'https://api-m.sandbox.paypal.com': `http://${paypal.host}`,
      'https://www.sandbox.paypal.com': `http://${paypal.host}`,
    },
    ...{ hosts: [paypal.host], browserHosts: [paypal.host] },
  });
  const killAt = path.join(dataDir, 'kill-at');
  const port = await freePort();
  const settings = {
    ...{ DATABASE_URL: url, DATA_DIR: dataDir, OUTBOUND_ALLOW_HOSTS: 'localhost', APP_SECRET: testInstallation.secret },
    // All processes have one address, as behind a load balancer.
    BASE_URL: `http://127.0.0.1:${port}`,
  };
  const app = await openRestApp(url, { ...settings, PORT: String(port), ROLES: 'web' });
  afterFile(() => app.stop());
  const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
  const gateways = { stripe: '', paypal: '' };
  const vendorSettings = {
    stripe: { secret_key: STRIPE_KEY },
    paypal: { mode: 'sandbox', client_id: PAYPAL_ID, client_secret: PAYPAL_SECRET, save_accounts: true },
  };
  for (const name of ['stripe', 'paypal'] as const) {
    await app.rest(`/plugins/mailwright/${name}/deactivate`, { method: 'POST' });
    const granted = { hosts: [hosts[name]], browserHosts: [hosts[name]] };
    expect(await client.activate(`acme/${name}`, granted)).toMatchObject({ status: 'ACTIVE' });
    const body = { name, type: name, settings: vendorSettings[name] };
    const made = await app.rest('/payment_gateways', { method: 'POST', body });
    gateways[name] = String(field(made, 'payment_gateway_uid'));
  }
  const customers = gatewayCustomers(app);
  const plan = await customers.newPlan('EUR', '19.90');
  const { db } = app.ctx;

  /** The address of the gateway's own route, at the web server of this process. */
  async function checkout(vendor: VendorName, { invoice, token }: DueCustomer): Promise<string> {
    const body = { gateway_uid: gateways[vendor] };
    return String(field(await app.rest(`/invoices/${invoice}/checkout`, { method: 'POST', token, body }), 'url'));
  }

  /** What the browser of a payer does at the vendor: answers where it is sent back to. */
  function payAtVendor(vendor: VendorName, location: string): string {
    if (vendor === 'paypal') return paypal.approve(location.split('=').at(-1) ?? '');
    const session = location.split('/').at(-1) ?? '';
    stripe.pay(session);
    return String(stripe.sessions.get(session)?.['success_url']);
  }

  async function intentsOf({ customerId }: DueCustomer) {
    return db.query(
      { uid: 'text', status: 'text', reference: 'text?', invoice: 'text', isCharged: 'bool' },
      sql`SELECT p.uid, p.status, p.reference, i.uid AS invoice, p.method_id IS NOT NULL AND p.charged_at IS NOT NULL AS "isCharged" FROM payment_intent p
            JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id WHERE p.customer_id = ${customerId} ORDER BY p.id`,
    );
  }

  return {
    ...{ app, stripe, paypal, plan, gateways, checkout, payAtVendor, intentsOf, customers },
    dueCustomer: () => customers.dueCustomer(plan),
    /** A program of its own, which works on jobs and serves. `roles` with `cron` has the schedule, too. */
    startProgram: (roles = 'web,worker'): Promise<Program> =>
      startProgram({
        ...settings,
        ...{ ROLES: roles, DB_POOL_SIZE: '8', NODE_OPTIONS: `--import=${KILLER}`, KILL_AT: killAt },
      }),
    /** The process of the program that comes to this statement next dies there. */
    killAt: (at: KillAt) => writeFileSync(killAt, JSON.stringify(at)),
    disarm: () => rmSync(killAt, { force: true }),
    /** Dies when the vendor has got this request, which it acts on first or not at all; nobody reads an answer. */
    killAtRequest(program: Program, { vendor, path: part, acts }: { vendor: VendorName; path: string; acts: boolean }) {
      const fault = { path: part, after: acts, act: () => void program.process.kill('SIGKILL') };
      (vendor === 'stripe' ? stripe : paypal).faults.push(fault);
    },
    async untilKilled({ process: child }: Program): Promise<void> {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      expect(child.signalCode).toBe('SIGKILL');
    },
    /** Has paid, and the vendor keeps the method. */
    async customerWithMethod(vendor: VendorName): Promise<DueCustomer> {
      const customer = await customers.dueCustomer(plan);
      const { headers } = await fetch(await checkout(vendor, customer), { redirect: 'manual' });
      await fetch(payAtVendor(vendor, headers.get('location') ?? ''), { redirect: 'manual' });
      expect(await customers.refresh(customer)).toMatchObject({ status: 'paid' });
      return customer;
    },
    /** The period has ended a minute ago: the next run of the renewals writes the invoice. */
    async endPeriod({ customerId }: DueCustomer): Promise<void> {
      await db.execute(
        sql`UPDATE subscription s SET anchor_at = anchor_at - gone.by, current_period_started_at = current_period_started_at - gone.by,
                   current_period_ends_at = current_period_ends_at - gone.by, next_step_at = next_step_at - gone.by
              FROM (SELECT customer_id, current_period_ends_at - now() + interval '1 minute' AS by FROM subscription WHERE customer_id = ${customerId}) gone
             WHERE s.customer_id = gone.customer_id`,
      );
    },
    runRenewals: () => enqueue(db, renewSubscriptionsJob, {}),
    /** All payments are due, and the periodic sync runs. */
    async runSync(): Promise<void> {
      await customers.later('1 hour');
      await enqueue(db, syncPaymentsJob, {});
    },
    /** No job of payments runs or waits. A run of the renewals that died is not tried again: the next one comes. */
    async untilIdle(): Promise<void> {
      const jobs = () =>
        db.query(
          { count: 'int' },
          sql`SELECT count(*)::int AS count FROM graphile_worker.jobs
               WHERE task_identifier LIKE 'billing.%' AND (locked_at IS NOT NULL OR attempts < max_attempts)`,
        );
      await expect.poll(async () => (await jobs())[0]?.count, WAIT).toBe(0);
    },
    /** Their states, the oldest first. */
    async invoicesOf({ customerId }: DueCustomer): Promise<string[]> {
      const rows = await db.query(
        { status: 'text' },
        sql`SELECT status FROM invoice WHERE customer_id = ${customerId} ORDER BY id`,
      );
      return rows.map(({ status }) => status);
    },
    /** As many jobs of one charge as it takes to have several at once. */
    runCharge: ({ customerId }: DueCustomer, intentUid: string) =>
      enqueue(db, chargeIntentJob, { customerId: String(customerId), intentUid }),
    /** Objects of the customer at the vendor that moved money, and how often the vendor was told to move it. */
    async movedAtVendor(customer: DueCustomer) {
      const own = new Set((await intentsOf(customer)).map(({ uid }) => uid));
      const ofStripe = [...stripe.payments.values()].filter((one) => own.has(intentUidIn(one['metadata'])));
      const ofPayPal = [...paypal.orders.values()].filter((one) => own.has(customIdOf(one)));
      const ids = [...ofStripe, ...ofPayPal].map(({ id }) => String(id));
      const charges = [...stripe.charges, ...paypal.charges].filter((id) => ids.includes(id));
      return { charges: charges.length, objects: new Set(charges).size };
    },
  };
}

function intentUidIn(metadata: unknown): string {
  return typeof metadata === 'object' && metadata !== null ? String(Reflect.get(metadata, 'intent_uid')) : '';
}

function customIdOf(order: Readonly<Record<string, unknown>>): string {
  const { purchase_units: units } = order;
  const unit: unknown = Array.isArray(units) ? units[0] : undefined;
  return typeof unit === 'object' && unit !== null ? String(Reflect.get(unit, 'custom_id')) : '';
}
