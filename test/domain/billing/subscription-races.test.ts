/** Fifty callers at once: one running subscription, one effect of a decision, and books that are right. */
import { beforeEach, describe, expect, test } from 'vitest';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import {
  cancelSubscription,
  resumeSubscription,
} from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { assignPlan } from '../../../src/domain/billing/subscriptions/create-subscription.ts';
import { deletePlan } from '../../../src/domain/billing/plans/delete-plan.ts';
import {
  approvePayment,
  claimPayment,
  recordPayment,
  rejectPayment,
} from '../../../src/domain/billing/invoices/pay-invoice.ts';
import {
  creditOf,
  customerWith,
  eventsOf,
  invoicesOf,
  openBillingWorld,
  subscriptionsOf,
} from '../../support/billing-world.ts';

const START = '2026-01-01T00:00:00.000Z';
const world = await openBillingWorld(START);
const { admin } = world;
const free = await world.newPlan('0');
const small = await world.newPlan('31.00');
const large = await world.newPlan('62.00');

beforeEach(async () => {
  world.setClock(START);
  (await world.fired()).length = 0;
});

/** A customer who has paid for a plan, from the start. */
const payingCustomer = () => customerWith(world, small);

describe('fifty at once', () => {
  const times = <T>(act: (no: number) => Promise<T>) =>
    Promise.allSettled(Array.from({ length: 50 }, (_, no) => act(no)));
  const went = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.filter(({ status }) => status === 'fulfilled').length;

  test('assignments leave one running, and every one in the history', async () => {
    const customer = await world.newCustomer();
    const plans = [free, small, large];
    const results = await times((no) =>
      assignPlan(admin, { customerUid: customer.uid, planUid: plans[no % 3]?.uid ?? '' }),
    );
    expect(went(results)).toBe(50);
    const subscriptions = await subscriptionsOf(world, customer.id);
    expect(subscriptions).toHaveLength(50);
    expect(subscriptions.filter(({ status }) => status === 'active')).toHaveLength(1);
    expect(subscriptions.filter(({ status }) => status === 'ended')).toHaveLength(49);
    const events = await eventsOf(world, customer.id);
    expect(events.filter((event) => event === 'started')).toHaveLength(50);
    expect(events.filter((event) => event === 'ended')).toHaveLength(49);
  });

  test('approvals are one payment and one start', async () => {
    const customer = await world.newCustomer();
    const { due } = await changePlan(customer.ctx, { planUid: small.uid });
    const claims = await times(() => claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '' }));
    const uids = new Set(claims.map((claim) => (claim.status === 'fulfilled' ? claim.value.uid : 'refused')));
    expect(uids.size).toBe(1);
    const [uid = ''] = uids;
    (await world.fired()).length = 0;
    expect(went(await times(() => approvePayment(admin, { uid })))).toBe(50);
    expect(await eventsOf(world, customer.id)).toEqual(['created', 'payment_claimed', 'started']);
    expect(await world.fired()).toHaveLength(1);
  });

  test('approvals and rejections decide once', async () => {
    const customer = await world.newCustomer();
    const { due } = await changePlan(customer.ctx, { planUid: small.uid });
    const { uid } = await claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '' });
    expect(went(await times((no) => (no % 2 ? approvePayment : rejectPayment)(admin, { uid })))).toBe(25);
    expect((await eventsOf(world, customer.id)).length).toBe(3);
  });

  test('changes of plan, cancellations and recorded payments leave one running and the books right', async () => {
    const customer = await payingCustomer();
    const [row] = await subscriptionsOf(world, customer.id);
    const uid = row?.uid ?? '';
    await times(async (no) => {
      if (no % 5 === 4) return cancelSubscription(customer.ctx, { uid });
      if (no % 5 === 3) return resumeSubscription(customer.ctx, { uid });
      const { due } = await changePlan(customer.ctx, { planUid: [large, free, small][no % 3]?.uid ?? '' });
      return due && recordPayment(admin, { invoiceUid: due.uid });
    });
    const running = (await subscriptionsOf(world, customer.id)).filter(({ status }) => status !== 'ended');
    expect(running).toHaveLength(1);
    const invoices = await invoicesOf(world, customer.id);
    expect(invoices.filter(({ status }) => status === 'pending').length).toBeLessThanOrEqual(1);
    const paid = invoices.filter(({ status }) => status === 'paid').reduce((sum, { total }) => sum + total, 0n);
    expect((await creditOf(world, customer.id)) <= paid).toBe(true);
  });

  test('a plan is not deleted under those who get it', async () => {
    for (let round = 0; round < 10; round++) {
      const plan = await world.newPlan('1');
      const customers = await Promise.all(Array.from({ length: 4 }, () => world.newCustomer()));
      const [deleted, ...assigned] = await Promise.allSettled([
        deletePlan(admin, plan),
        ...customers.map(({ uid }) => assignPlan(admin, { customerUid: uid, planUid: plan.uid })),
      ]);
      const running = await Promise.all(customers.map(({ id }) => subscriptionsOf(world, id)));
      expect(running.flat().length).toBe(went(assigned));
      if (deleted.status === 'fulfilled') expect(went(assigned)).toBe(0);
      else expect(deleted.reason).toMatchObject({ code: 'PLAN_IN_USE' });
    }
  });
});
