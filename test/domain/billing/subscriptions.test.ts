/** A customer's plan: given, changed, paid for, cancelled. */
import { eventsAbout } from '../../support/event-followers.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import {
  activateSubscription,
  cancelSubscription,
  resumeSubscription,
  terminateSubscription,
} from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { assignPlan, createSubscription } from '../../../src/domain/billing/subscriptions/create-subscription.ts';
import { deletePlan } from '../../../src/domain/billing/plans/delete-plan.ts';
import {
  approvePayment,
  claimPayment,
  recordPayment,
  rejectPayment,
} from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { updatePlan } from '../../../src/domain/billing/plans/update-plan.ts';
import { updateSubscription } from '../../../src/domain/billing/subscriptions/update-subscription.ts';
import { allowanceOf } from '../../../src/domain/billing/plans/allowance.ts';
import {
  creditOf,
  customerWith,
  eventsOf,
  historyOf,
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

/** A customer who has paid for this plan, from the start. */
const payingCustomer = (plan = small) => customerWith(world, plan);

describe('a first subscription', () => {
  test('to a free plan runs at once', async () => {
    const customer = await world.newCustomer();
    const { due } = await createSubscription(admin, {
      customerUid: customer.uid,
      planUid: free.uid,
      disableBilling: false,
    });
    expect(due).toBeNull();
    const [subscription] = await subscriptionsOf(world, customer.id);
    expect(subscription).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-02-01T00:00:00.000Z') });
    expect(await eventsOf(world, customer.id)).toEqual(['started']);
    expect(await world.fired()).toEqual([`plan_changed null ${free.uid}`]);
  });

  test('to a paid plan waits for its payment, and its limits count meanwhile (D55)', async () => {
    const customer = await world.newCustomer();
    const { subscription, due } = await createSubscription(admin, {
      customerUid: customer.uid,
      planUid: small.uid,
      disableBilling: false,
    });
    expect(subscription.status).toBe('pending');
    expect(due).toMatchObject({ kind: 'start', status: 'pending', totalMinor: 3100n });
    expect(await allowanceOf(admin.db, customer.id)).toMatchObject({ source: 'pending', planUid: small.uid });
    world.setClock('2026-01-05T12:00:00.000Z');
    await recordPayment(admin, { invoiceUid: due?.uid ?? '' });
    const [row] = await subscriptionsOf(world, customer.id);
    expect(row).toMatchObject({ status: 'active', periodEndsAt: new Date('2026-02-05T12:00:00.000Z') });
    expect(await eventsOf(world, customer.id)).toEqual(['created', 'started']);
    expect((await allowanceOf(admin.db, customer.id)).planUid).toBe(small.uid);
  });

  test('that was never paid leaves the customer without one, as before (D55)', async () => {
    const customer = await world.newCustomer();
    const { subscription } = await changePlan(customer.ctx, { planUid: small.uid });
    await cancelSubscription(customer.ctx, subscription);
    expect((await allowanceOf(admin.db, customer.id)).source).toBe('none');
    expect(await world.fired()).toEqual([]);
  });

  test('without billing runs at once, whatever it costs', async () => {
    const customer = await world.newCustomer();
    await createSubscription(admin, { customerUid: customer.uid, planUid: large.uid, disableBilling: true });
    expect(await invoicesOf(world, customer.id)).toEqual([]);
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active' }]);
  });
});

describe('changing the plan', () => {
  test('up costs the difference of what is left, and happens when it is paid', async () => {
    const customer = await payingCustomer(small);
    world.setClock('2026-01-11T00:00:00.000Z');
    const { due, subscription } = await changePlan(customer.ctx, { planUid: large.uid });
    // 21 of 31 days are left of 31.00.
    expect(due).toMatchObject({ kind: 'change', totalMinor: 4100n });
    expect(subscription.planId).toBe(small.id);
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ lines: ['plan 6200', 'unused -2100'] });
    world.setClock('2026-01-13T00:00:00.000Z');
    await recordPayment(admin, { invoiceUid: due?.uid ?? '' });
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([
      { status: 'active', planId: large.id, periodEndsAt: new Date('2026-02-11T00:00:00.000Z') },
    ]);
    expect(await eventsOf(world, customer.id)).toEqual(['created', 'started', 'change_requested', 'plan_changed']);
    expect((await world.fired()).at(-1)).toBe(`plan_changed ${small.uid} ${large.uid}`);
  });

  test('down happens at once, and what is left becomes credit that later bills take', async () => {
    const customer = await payingCustomer(large);
    world.setClock('2026-01-02T00:00:00.000Z');
    const { due } = await changePlan(customer.ctx, { planUid: small.uid });
    expect(due).toBeNull();
    // 30 of 31 days are left of 62.00: 60.00, of which 31.00 pays the new period.
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({
      status: 'paid',
      total: 0n,
      lines: ['plan 3100', 'unused -6000', 'credit_kept 2900'],
    });
    expect(await creditOf(world, customer.id)).toBe(2900n);
    const back = await changePlan(customer.ctx, { planUid: large.uid });
    expect(back.due).toMatchObject({ totalMinor: 200n, creditUsedMinor: 2900n });
    expect(await creditOf(world, customer.id)).toBe(0n);
    // Taking the wish back gives the credit back.
    await changePlan(customer.ctx, { planUid: small.uid });
    expect(await creditOf(world, customer.id)).toBe(2900n);
    expect((await eventsOf(world, customer.id)).slice(-2)).toEqual(['change_requested', 'change_withdrawn']);
  });

  test('asked for twice is one invoice', async () => {
    const customer = await payingCustomer(small);
    const [one, two] = [
      await changePlan(customer.ctx, { planUid: large.uid }),
      await changePlan(customer.ctx, { planUid: large.uid }),
    ];
    expect(two.due?.uid).toBe(one.due?.uid);
    expect((await invoicesOf(world, customer.id)).filter(({ status }) => status === 'pending')).toHaveLength(1);
  });

  test('into another currency keeps what was paid as credit in the old one', async () => {
    const customer = await payingCustomer(small);
    const dollars = await world.newPlan('10', { currencyCode: 'USD' });
    const { due } = await changePlan(customer.ctx, { planUid: dollars.uid });
    expect(due).toMatchObject({ totalMinor: 1000n, currencyCode: 'USD' });
    await recordPayment(admin, { invoiceUid: due?.uid ?? '' });
    expect(await creditOf(world, customer.id, 'EUR')).toBe(3100n);
  });

  test('of what was assigned without billing gives no money back', async () => {
    const customer = await world.newCustomer();
    await assignPlan(admin, { customerUid: customer.uid, planUid: large.uid });
    await changePlan(customer.ctx, { planUid: free.uid });
    expect(await creditOf(world, customer.id)).toBe(0n);
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active', planId: free.id }]);
  });

  test('to and fro makes no money', async () => {
    const customer = await payingCustomer(large);
    for (let no = 0; no < 10; no++) {
      world.setClock(`2026-01-0${Math.min(9, no + 1)}T07:11:13.000Z`);
      await changePlan(customer.ctx, { planUid: [small, large][no % 2]?.uid ?? '' });
      const waiting = (await invoicesOf(world, customer.id)).find(({ status }) => status === 'pending');
      if (waiting) await recordPayment(admin, { invoiceUid: waiting.uid });
    }
    const invoices = await invoicesOf(world, customer.id);
    const paid = invoices.filter(({ status }) => status === 'paid').reduce((sum, { total }) => sum + total, 0n);
    // Nothing is ever worth more than the money that came in.
    expect((await creditOf(world, customer.id)) + 6200n <= paid + 6200n).toBe(true);
    for (const { total, lines } of invoices)
      expect(lines.reduce((sum, line) => sum + BigInt(line.split(' ')[1] ?? 0), 0n)).toBe(total);
  });

  test('is refused to the present, an archived, an unknown plan', async () => {
    const customer = await payingCustomer(small);
    const archived = await world.newPlan('5');
    await updatePlan(admin, { uid: archived.uid, status: 'inactive' });
    await expect(changePlan(customer.ctx, { planUid: small.uid })).rejects.toMatchObject({ code: 'PLAN_UNCHANGED' });
    await expect(changePlan(customer.ctx, { planUid: archived.uid })).rejects.toMatchObject({
      code: 'PLAN_NOT_ACTIVE',
    });
    await expect(changePlan(customer.ctx, { planUid: 'x' })).rejects.toMatchObject({ code: 'PLAN_NOT_FOUND' });
  });

  test('is not for somebody else', async () => {
    const [customer, other] = [await world.newCustomer(), await world.newCustomer()];
    await expect(changePlan(customer.ctx, { planUid: free.uid, customerUid: other.uid })).rejects.toMatchObject({
      code: 'CUSTOMER_NOT_FOUND',
    });
    expect(await subscriptionsOf(world, other.id)).toEqual([]);
  });

  test('fifty times a day is enough', async () => {
    const customer = await payingCustomer(small);
    const plans = [await world.newPlan('100'), await world.newPlan('200')];
    const wish = (no: number) => changePlan(customer.ctx, { planUid: plans[no % 2]?.uid ?? '' });
    for (let no = 0; no < 49; no++) await wish(no);
    await expect(wish(1)).rejects.toMatchObject({ code: 'TOO_MANY_PLAN_CHANGES', retryAfterSeconds: 86_400 });
    world.setClock('2026-01-02T00:00:01.000Z');
    await wish(1);
  });
});

describe('paying offline', () => {
  test('is claimed by the customer and approved by an administrator', async () => {
    const customer = await world.newCustomer();
    const { due } = await changePlan(customer.ctx, { planUid: small.uid });
    const claim = await claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '', note: 'From my bank, today.' });
    expect(claim.status).toBe('AWAITING_ADMIN_APPROVAL');
    expect((await claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '' })).uid).toBe(claim.uid);
    await expect(approvePayment(customer.ctx, claim)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(changePlan(customer.ctx, { planUid: large.uid })).rejects.toMatchObject({
      code: 'PAYMENT_AWAITS_APPROVAL',
    });
    await approvePayment(admin, claim);
    await approvePayment(admin, claim);
    await expect(rejectPayment(admin, claim)).rejects.toMatchObject({ code: 'PAYMENT_DECIDED' });
    await expect(claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '' })).rejects.toMatchObject({
      code: 'INVOICE_NOT_PENDING',
    });
    expect(await eventsOf(world, customer.id)).toEqual(['created', 'payment_claimed', 'started']);
  });

  test('that is rejected may be claimed again, ten times', async () => {
    const customer = await world.newCustomer();
    const { due } = await changePlan(customer.ctx, { planUid: small.uid });
    const claimIt = () => claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '' });
    for (let no = 0; no < 10; no++) await rejectPayment(admin, { ...(await claimIt()), reason: 'Nothing came.' });
    await expect(claimIt()).rejects.toMatchObject({ code: 'TOO_MANY_CLAIMS' });
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'pending' }]);
    expect((await historyOf(world, customer.id)).at(-1)).toMatchObject({
      event: 'payment_rejected',
      note: 'Nothing came.',
    });
  });

  test('for another customer is refused', async () => {
    const [customer, other] = [await world.newCustomer(), await world.newCustomer()];
    const { due } = await changePlan(other.ctx, { planUid: small.uid });
    await expect(claimPayment(customer.ctx, { invoiceUid: due?.uid ?? '' })).rejects.toMatchObject({
      name: 'ForeignResourceError',
    });
  });
});

describe('acts on a subscription', () => {
  test('cancel runs to the end of the period, resume goes on, terminate ends at once', async () => {
    const customer = await payingCustomer(small);
    const [subscription] = await subscriptionsOf(world, customer.id);
    const uid = subscription?.uid ?? '';
    const cancelled = await cancelSubscription(customer.ctx, { uid });
    expect(cancelled).toMatchObject({ status: 'cancelled', endsAt: new Date('2026-02-01T00:00:00.000Z') });
    await expect(cancelSubscription(customer.ctx, { uid })).rejects.toMatchObject({ code: 'SUBSCRIPTION_STATE' });
    expect(await resumeSubscription(customer.ctx, { uid })).toMatchObject({ status: 'active', endsAt: null });
    await expect(terminateSubscription(customer.ctx, { uid })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    (await world.fired()).length = 0;
    await terminateSubscription(admin, { uid });
    expect(await world.fired()).toEqual([`subscription_terminated ${uid}`]);
    const about = await eventsAbout(admin.db, uid);
    expect(about.map(({ kind }) => kind.replace('subscription_', ''))).toEqual([
      ...['created', 'started', 'plan_changed', 'cancelled', 'resumed', 'ended'],
    ]);
    const whose = { customerUid: customer.uid, planUid: small.uid };
    expect(about.at(-1)?.data).toEqual({ ...whose, wasRunning: true, isReplaced: false, isTerminated: true });
    for (const act of [terminateSubscription, activateSubscription, cancelSubscription, resumeSubscription])
      await expect(act(admin, { uid })).rejects.toMatchObject({ code: 'SUBSCRIPTION_STATE' });
    expect((await allowanceOf(admin.db, customer.id)).source).toBe('ended');
    expect((await eventsOf(world, customer.id)).slice(-3)).toEqual(['cancelled', 'resumed', 'terminated']);
  });

  test('activate starts one that waits, without payment', async () => {
    const customer = await world.newCustomer();
    const { subscription, due } = await changePlan(customer.ctx, { planUid: small.uid });
    expect(await activateSubscription(admin, subscription)).toMatchObject({ status: 'active', paidCurrencyCode: null });
    expect(await invoicesOf(world, customer.id)).toMatchObject([{ uid: due?.uid, status: 'void' }]);
    // What nobody paid for is worth nothing.
    await changePlan(customer.ctx, { planUid: free.uid });
    expect(await creditOf(world, customer.id)).toBe(0n);
  });

  test('are not for other customers', async () => {
    const [customer, other] = [await payingCustomer(), await payingCustomer()];
    const [subscription] = await subscriptionsOf(world, other.id);
    for (const act of [cancelSubscription, resumeSubscription])
      await expect(act(customer.ctx, { uid: subscription?.uid ?? '' })).rejects.toMatchObject({
        name: 'ForeignResourceError',
      });
  });

  test('an administrator sets the end, the period and own options; null takes them back', async () => {
    const customer = await payingCustomer(small);
    const [row] = await subscriptionsOf(world, customer.id);
    const uid = row?.uid ?? '';
    const set = await updateSubscription(admin, {
      uid,
      endsAt: new Date('2026-12-31'),
      currentPeriodEndsAt: new Date('2026-01-20'),
      frequencyAmount: 2,
      frequencyUnit: 'week',
      options: { list_max: 3, sending_server_types: { smtp: 'no' } },
    });
    expect(set).toMatchObject({ endsAt: new Date('2026-12-31'), currentPeriodEndsAt: new Date('2026-01-20') });
    expect((await allowanceOf(admin.db, customer.id)).options).toMatchObject({ list_max: '3' });
    const cleared = await updateSubscription(admin, {
      uid,
      endsAt: null,
      frequencyAmount: null,
      options: { list_max: null },
    });
    expect(cleared).toMatchObject({ endsAt: null, frequencyAmount: null, frequencyUnit: null });
    expect((await allowanceOf(admin.db, customer.id)).options).toMatchObject({ list_max: '-1' });
    expect((await historyOf(world, customer.id)).at(-1)).toMatchObject({ event: 'updated' });
    await expect(
      updateSubscription(admin, {
        uid,
        endsAt: new Date('2025-01-01'),
        currentPeriodEndsAt: null,
        frequencyAmount: 0,
        options: { nonsense: '1', list_max: 'many' },
      }),
    ).rejects.toMatchObject({
      fields: {
        endsAt: [expect.any(String)],
        currentPeriodEndsAt: [expect.any(String)],
        frequencyAmount: [expect.any(String)],
        'options.nonsense': [expect.any(String)],
        'options.list_max': [expect.any(String)],
      },
    });
  });

  test('a plan that somebody has is not deleted, and one that somebody had stays in the books', async () => {
    const plan = await world.newPlan('7');
    const customer = await payingCustomer(plan);
    await expect(deletePlan(admin, plan)).rejects.toMatchObject({ code: 'PLAN_IN_USE' });
    await expect(updatePlan(admin, { uid: plan.uid, currencyCode: 'USD', price: '7' })).rejects.toMatchObject({
      code: 'PLAN_CURRENCY_FIXED',
    });
    const [subscription] = await subscriptionsOf(world, customer.id);
    await terminateSubscription(admin, { uid: subscription?.uid ?? '' });
    await deletePlan(admin, plan);
    await expect(deletePlan(admin, plan)).rejects.toMatchObject({ code: 'PLAN_NOT_FOUND' });
    expect(await invoicesOf(world, customer.id)).toMatchObject([{ status: 'paid' }]);
  });
});
