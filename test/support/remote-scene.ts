/** Customers whose plans are paid by a vendor's subscription, without a browser. */
import { sql } from '../../src/db/database.ts';
import { changePlan } from '../../src/domain/billing/subscriptions/change-plan.ts';
import { terminateSubscription } from '../../src/domain/billing/subscriptions/control-subscription.ts';
import { createGateway } from '../../src/domain/billing/gateways/save-gateway.ts';
import { openCheckout, saveReference } from '../../src/domain/billing/payments/open-checkout.ts';
import { renewSubscriptions } from '../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { cancelRemote } from '../../src/domain/billing/remote/cancel-remote.ts';
import { changeRemotePlan } from '../../src/domain/billing/remote/change-remote-plan.ts';
import { linkRemotePlan } from '../../src/domain/billing/remote/link-remote-plan.ts';
import { startPayment } from '../../src/domain/billing/payments/start-payment.ts';
import { refreshInvoice, syncPayments } from '../../src/domain/billing/payments/sync-payments.ts';
import type { Context } from '../../src/domain/context.ts';
import { subscriptionsOf, type BillingWorld } from './billing-world.ts';
import { useRemoteVendor, type RemoteVendor } from './remote-vendor.ts';

export interface RemoteRow {
  readonly id: bigint;
  readonly remoteId: string;
  readonly status: string;
  readonly isEnded: boolean;
  readonly paidUntil: Date | null;
  readonly methodTitle: string;
  readonly error: string | null;
}

export async function remoteScene(world: BillingWorld, vendor: () => RemoteVendor) {
  useRemoteVendor(world.hooks, vendor);
  const { admin } = world;
  const system: Context = { ...admin, viewer: null };
  const gateway = await createGateway(admin, { name: 'Subscriptions', type: 'acme-subs', settings: {} });
  const [small, large] = [await world.newPlan('10'), await world.newPlan('25')];

  /** The clock, here and at the vendor. */
  function at(moment: string): void {
    world.setClock(moment);
    vendor().now = new Date(moment);
  }

  /** The vendor has both plans, and they are linked. */
  async function linkPlans(): Promise<void> {
    vendor().addPlan('p_small', 1_000n);
    vendor().addPlan('p_large', 2_500n);
    await linkRemotePlan(admin, { gatewayUid: gateway.uid, planUid: small.uid, remotePlanId: 'p_small' });
    await linkRemotePlan(admin, { gatewayUid: gateway.uid, planUid: large.uid, remotePlanId: 'p_large' });
  }

  async function dueCustomer(planUid = small.uid) {
    const customer = await world.newCustomer();
    const { due } = await changePlan(customer.ctx, { planUid });
    if (!due) throw new Error('Nothing is due.');
    return { ...customer, due };
  }

  /** Goes to the vendor, as the plugin's route does. */
  async function begin({ ctx, due }: { ctx: Context; due: { uid: string } }, gatewayUid = gateway.uid) {
    const { path } = await startPayment(ctx, { invoiceUid: due.uid, gatewayUid });
    const checkout = await openCheckout(system, 'acme/subs', path.split('/').at(-1) ?? '');
    if (!checkout) throw new Error('The token does not work.');
    const made = vendor().open(checkout.intent);
    await saveReference(system, 'acme/subs', { intentUid: checkout.intent.uid, reference: made.id });
    return made;
  }

  /** Pays its plan by a subscription of the vendor since the present moment. */
  async function subscriber(planUid = small.uid) {
    const customer = await dueCustomer(planUid);
    const checkout = await begin(customer);
    const kept = vendor().pay(checkout.id);
    if (!kept) throw new Error('No subscription was begun.');
    await refreshInvoice(customer.ctx, { uid: customer.due.uid });
    return { ...customer, kept };
  }

  /** Has a saved card, and a new first invoice of a linked plan. */
  async function cardHolder() {
    const customer = await dueCustomer();
    const checkout = await begin(customer);
    checkout.saves = true;
    vendor().pay(checkout.id);
    await refreshInvoice(customer.ctx, { uid: customer.due.uid });
    const paid = (await subscriptionsOf(world, customer.id)).at(-1);
    await terminateSubscription(admin, { uid: paid?.uid ?? '' });
    if (vendor().plans.length === 0) await linkPlans();
    const { due } = await changePlan(customer.ctx, { planUid: small.uid });
    return { ...customer, due: { uid: due?.uid ?? '' } };
  }

  const remotesOf = (customerId: bigint) =>
    world.rows<RemoteRow>(sql`
      SELECT id, remote_id AS "remoteId", status, is_ended AS "isEnded", paid_until AS "paidUntil", method_title AS "methodTitle", error
        FROM remote_subscription WHERE customer_id = ${customerId} ORDER BY id`);

  /** The jobs that wait, of this kind: run now, as a worker does. */
  async function runJobs(customerId: bigint): Promise<void> {
    for (const { id } of await remotesOf(customerId)) {
      await changeRemotePlan(system, { customerId, id });
      await cancelRemote(system, { customerId, id });
    }
  }

  /** Each test begins with its own vendor: what another one kept is gone. */
  async function forget(): Promise<void> {
    await world.rows(sql`DELETE FROM remote_subscription`);
    await world.rows(sql`DELETE FROM payment_intent WHERE remote_plan_id IS NOT NULL`);
    await world.rows(sql`DELETE FROM remote_plan_link`);
    await world.rows(sql`UPDATE subscription SET status = 'ended', next_step_at = NULL`);
    await world.rows(sql`UPDATE payment_gateway SET next_walk_at = NULL, walk_error = NULL`);
  }

  /** Payments are single ones from now on. */
  async function unlink(): Promise<void> {
    await world.rows(sql`DELETE FROM remote_plan_link`);
  }

  /** What the scheduled jobs do, in this order. */
  async function pass(): Promise<void> {
    await renewSubscriptions(system);
    await syncPayments(system);
  }

  const people = { dueCustomer, begin, subscriber, forget, unlink, cardHolder };
  return { ...people, gateway, system, small, large, at, linkPlans, remotesOf, runJobs, pass };
}
