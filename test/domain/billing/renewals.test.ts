/** The clock of subscriptions, with a clock that a test turns: renewals, ends, catching up, crashes. */
import { beforeEach, describe, expect, test } from 'vitest';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { cancelSubscription } from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { assignPlan } from '../../../src/domain/billing/subscriptions/create-subscription.ts';
import { claimPayment, recordPayment, rejectPayment } from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { updatePlan } from '../../../src/domain/billing/plans/update-plan.ts';
import { updateSubscription } from '../../../src/domain/billing/subscriptions/update-subscription.ts';
import { sql } from '../../../src/db/database.ts';
import { crontab } from '../../../src/workers/crontab.ts';
import { renewSubscriptionsTask } from '../../../src/workers/tasks/renew-subscriptions.ts';
import {
  creditOf,
  customerWith,
  eventsOf,
  historyOf,
  invoicesOf,
  openBillingWorld,
  subscriptionsOf,
} from '../../support/billing-world.ts';

const START = '2026-01-31T10:00:00.000Z';
const world = await openBillingWorld(START);
const { admin } = world;
const free = await world.newPlan('0');
const paid = await world.newPlan('10.00');

beforeEach(async () => {
  world.setClock(START);
  (await world.fired()).length = 0;
  // Each test looks at its own customers only.
  await admin.db.execute(sql`UPDATE subscription SET next_step_at = NULL`);
});

/** The clock strikes; answers how many subscriptions were moved. */
async function tick(at: string): Promise<number> {
  world.setClock(at);
  const { moved, failed } = await renewSubscriptions({ ...admin, viewer: null });
  expect(failed).toBe(0);
  return moved;
}

const endOf = async (customerId: bigint) =>
  (await subscriptionsOf(world, customerId)).at(-1)?.periodEndsAt?.toISOString().slice(0, 10);

describe('nobody pays', () => {
  test('a free plan goes on, on the last day of the month where the month is short', async () => {
    const customer = await customerWith(world, free);
    expect(await tick('2026-02-28T09:59:59.000Z')).toBe(0);
    for (const [at, next] of [
      ['2026-02-28T10:00:00.000Z', '2026-03-31'],
      ['2026-03-31T10:00:00.000Z', '2026-04-30'],
      ['2026-04-30T10:00:00.000Z', '2026-05-31'],
    ] as const) {
      expect(await tick(at)).toBe(1);
      expect(await endOf(customer.id)).toBe(next);
    }
    expect(await eventsOf(world, customer.id)).toEqual(['started', 'renewed', 'renewed', 'renewed']);
    expect(await invoicesOf(world, customer.id)).toEqual([]);
  });

  test('missed periods are caught up one by one, and a second run finds nothing', async () => {
    const customer = await customerWith(world, free);
    expect(await tick('2027-01-31T10:00:00.000Z')).toBe(1);
    expect(await endOf(customer.id)).toBe('2027-02-28');
    expect((await eventsOf(world, customer.id)).filter((event) => event === 'renewed')).toHaveLength(12);
    expect(await tick('2027-01-31T10:00:00.000Z')).toBe(0);
  });

  test('a plan that was assigned without billing is never billed', async () => {
    const customer = await world.newCustomer();
    await assignPlan(admin, { customerUid: customer.uid, planUid: paid.uid });
    await tick('2026-06-01T00:00:00.000Z');
    expect(await invoicesOf(world, customer.id)).toEqual([]);
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active' }]);
  });
});

describe('a paid plan', () => {
  test('gets an invoice when its period ends, and goes on from there when it is paid', async () => {
    const customer = await customerWith(world, paid);
    expect(await tick('2026-02-28T10:00:00.000Z')).toBe(1);
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({
      kind: 'renewal',
      status: 'pending',
      total: 1000n,
      startsAt: new Date('2026-02-28T10:00:00.000Z'),
    });
    expect(await tick('2026-03-02T10:00:00.000Z')).toBe(0);
    await recordPayment(admin, { invoiceUid: (await invoicesOf(world, customer.id)).at(-1)?.uid ?? '' });
    expect(await endOf(customer.id)).toBe('2026-03-31');
    expect(await eventsOf(world, customer.id)).toEqual(['created', 'started', 'renewal_due', 'renewed']);
  });

  test('ends when nobody paid within the days of grace', async () => {
    const customer = await customerWith(world, paid);
    await tick('2026-02-28T10:00:00.000Z');
    expect(await tick('2026-03-07T09:59:59.000Z')).toBe(0);
    expect(await tick('2026-03-07T10:00:00.000Z')).toBe(1);
    const [subscription] = await subscriptionsOf(world, customer.id);
    expect(subscription).toMatchObject({ status: 'ended', endsAt: new Date('2026-03-07T10:00:00.000Z') });
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ status: 'void' });
    expect((await historyOf(world, customer.id)).at(-1)).toMatchObject({
      event: 'ended',
      note: 'The renewal was not paid.',
    });
    expect((await world.fired()).at(-1)).toBe(`subscription_terminated ${subscription?.uid}`);
  });

  test('does not end while an administrator has a claim to look at, and does when it is rejected', async () => {
    const customer = await customerWith(world, paid);
    await tick('2026-02-28T10:00:00.000Z');
    const invoiceUid = (await invoicesOf(world, customer.id)).at(-1)?.uid ?? '';
    const claim = await claimPayment(customer.ctx, { invoiceUid });
    expect(await tick('2026-03-20T00:00:00.000Z')).toBe(0);
    await rejectPayment(admin, claim);
    expect(await tick('2026-03-20T00:05:00.000Z')).toBe(1);
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'ended' }]);
  });

  test('is billed once for each missed period, one after the other, each with its own grace', async () => {
    const customer = await customerWith(world, paid);
    const starts: (string | undefined)[] = [];
    for (let no = 0; no < 3; no++) {
      await tick('2026-05-15T00:00:00.000Z');
      await tick('2026-05-15T00:05:00.000Z');
      const invoice = (await invoicesOf(world, customer.id)).at(-1);
      starts.push(invoice?.startsAt?.toISOString().slice(0, 10));
      await recordPayment(admin, { invoiceUid: invoice?.uid ?? '' });
    }
    expect(starts).toEqual(['2026-02-28', '2026-03-31', '2026-04-30']);
    expect(await tick('2026-05-15T00:10:00.000Z')).toBe(0);
    expect(await endOf(customer.id)).toBe('2026-05-31');
  });

  test('is renewed from credit when there is enough', async () => {
    const customer = await customerWith(world, await world.newPlan('100.00'));
    await changePlan(customer.ctx, { planUid: paid.uid });
    expect(await creditOf(world, customer.id)).toBe(9000n);
    await tick('2026-02-28T10:00:00.000Z');
    expect(await creditOf(world, customer.id)).toBe(8000n);
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({
      kind: 'renewal',
      status: 'paid',
      lines: ['plan 1000', 'credit_used -1000'],
    });
    expect(await endOf(customer.id)).toBe('2026-03-31');
  });

  test('gives the part of the credit back that it took, when it ends unpaid', async () => {
    const customer = await customerWith(world, await world.newPlan('14.00'));
    await changePlan(customer.ctx, { planUid: paid.uid });
    await tick('2026-02-28T10:00:00.000Z');
    expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ total: 600n });
    expect(await creditOf(world, customer.id)).toBe(0n);
    await tick('2026-04-01T00:00:00.000Z');
    expect(await creditOf(world, customer.id)).toBe(400n);
  });

  test('takes a new price and a new length with its next renewal', async () => {
    const plan = await world.newPlan('10');
    const customer = await customerWith(world, plan);
    await updatePlan(admin, { uid: plan.uid, price: '120', frequencyUnit: 'year' });
    expect(await endOf(customer.id)).toBe('2026-02-28');
    await tick('2026-02-28T10:00:00.000Z');
    const invoice = (await invoicesOf(world, customer.id)).at(-1);
    expect(invoice?.total).toBe(12_000n);
    await recordPayment(admin, { invoiceUid: invoice?.uid ?? '' });
    expect(await endOf(customer.id)).toBe('2027-02-28');
  });

  test('changed while its renewal is due begins where the old period ended', async () => {
    const customer = await customerWith(world, paid);
    await tick('2026-02-28T10:00:00.000Z');
    world.setClock('2026-03-03T10:00:00.000Z');
    const larger = await world.newPlan('20.00');
    const { due } = await changePlan(customer.ctx, { planUid: larger.uid });
    expect(due).toMatchObject({ kind: 'change', totalMinor: 2000n });
    await recordPayment(admin, { invoiceUid: due?.uid ?? '' });
    expect(await endOf(customer.id)).toBe('2026-03-28');
  });

  test('forgets a change of plan that nobody paid before the period ended', async () => {
    const customer = await customerWith(world, free);
    await changePlan(customer.ctx, { planUid: paid.uid });
    await tick('2026-02-28T10:00:00.000Z');
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'active', planId: free.id }]);
    expect(await invoicesOf(world, customer.id)).toMatchObject([{ status: 'void' }]);
  });
});

describe('ends', () => {
  test('a cancelled one runs to the end of its period', async () => {
    const customer = await customerWith(world, paid);
    const [subscription] = await subscriptionsOf(world, customer.id);
    await cancelSubscription(customer.ctx, { uid: subscription?.uid ?? '' });
    expect(await tick('2026-02-28T09:59:59.000Z')).toBe(0);
    expect(await tick('2026-04-01T00:00:00.000Z')).toBe(1);
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([
      { status: 'ended', endsAt: new Date('2026-02-28T10:00:00.000Z') },
    ]);
    expect((await eventsOf(world, customer.id)).slice(-2)).toEqual(['cancelled', 'ended']);
  });

  test('a set end is obeyed, within a period and after several', async () => {
    const [early, late] = [await customerWith(world, free), await customerWith(world, free)];
    for (const [customer, endsAt] of [
      [early, '2026-02-10T00:00:00.000Z'],
      [late, '2026-04-15T00:00:00.000Z'],
    ] as const) {
      const [subscription] = await subscriptionsOf(world, customer.id);
      await updateSubscription(admin, { uid: subscription?.uid ?? '', endsAt: new Date(endsAt) });
    }
    expect(await tick('2026-06-01T00:00:00.000Z')).toBe(2);
    expect(await subscriptionsOf(world, early.id)).toMatchObject([
      { status: 'ended', endsAt: new Date('2026-02-10T00:00:00.000Z') },
    ]);
    expect(await eventsOf(world, late.id)).toEqual(['started', 'updated', 'renewed', 'renewed', 'ended']);
    expect(await endOf(late.id)).toBe('2026-04-30');
  });

  test('a first invoice waits for thirty days', async () => {
    const customer = await world.newCustomer();
    await changePlan(customer.ctx, { planUid: paid.uid });
    expect(await tick('2026-03-02T09:00:00.000Z')).toBe(0);
    expect(await tick('2026-03-02T10:00:00.000Z')).toBe(1);
    expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'ended' }]);
    expect(await invoicesOf(world, customer.id)).toMatchObject([{ status: 'void' }]);
  });
});

test('the clock of the program does it every five minutes', async () => {
  const customer = await customerWith(world, free);
  expect(crontab).toContainEqual({ task: renewSubscriptionsTask.name, match: '*/5 * * * *' });
  world.setClock('2026-02-28T10:00:00.000Z');
  const helpers = {
    abortSignal: new AbortController().signal,
    workerId: 'test',
    jobId: '1',
    attempt: 1,
    attemptsMax: 25,
  };
  await renewSubscriptionsTask.run({ ...admin, viewer: null }, {}, helpers);
  expect(await endOf(customer.id)).toBe('2026-03-31');
});

describe('bad days', () => {
  test('twenty clocks at once bill once', async () => {
    const customers = await Promise.all(Array.from({ length: 5 }, () => customerWith(world, paid)));
    world.setClock('2026-02-28T10:00:00.000Z');
    await Promise.all(Array.from({ length: 20 }, () => renewSubscriptions({ ...admin, viewer: null })));
    for (const { id } of customers) {
      const invoices = await invoicesOf(world, id);
      expect(invoices.filter(({ kind }) => kind === 'renewal')).toHaveLength(1);
      expect(await eventsOf(world, id)).toEqual(['created', 'started', 'renewal_due']);
    }
  });

  test('a crash at any statement leaves nothing half done, and the next run does it once', async () => {
    const customer = await customerWith(world, free);
    world.setClock('2026-04-15T00:00:00.000Z');
    let statements = 0;
    for (let crashAt = 1; ; crashAt++) {
      statements = 0;
      const crashing: typeof admin.database = {
        ...admin.database,
        transaction: (work) =>
          admin.database.transaction((tx) => {
            const count = () => {
              statements += 1;
              if (statements === crashAt) throw new Error('The process died here.');
            };
            return work({
              ...tx,
              query: (...args) => (count(), tx.query(...args)),
              execute: (...args) => (count(), tx.execute(...args)),
            });
          }),
      };
      const { failed, moved } = await renewSubscriptions({ ...admin, viewer: null, database: crashing });
      if (failed === 0) {
        expect(moved).toBe(1);
        break;
      }
      expect(await eventsOf(world, customer.id)).toEqual(['started']);
    }
    expect(statements).toBeGreaterThan(10);
    expect(await eventsOf(world, customer.id)).toEqual(['started', 'renewed', 'renewed']);
  });

  test('one that cannot be moved keeps none of the others waiting', async () => {
    const [broken, whole] = [await customerWith(world, free), await customerWith(world, free)];
    await admin.db.execute(sql`UPDATE subscription SET anchor_at = NULL WHERE customer_id = ${broken.id}`);
    world.setClock('2026-02-28T10:00:00.000Z');
    expect(await renewSubscriptions({ ...admin, viewer: null })).toEqual({ moved: 1, failed: 1 });
    expect(await endOf(whole.id)).toBe('2026-03-31');
  });

  test('more than one page of them', async () => {
    const customer = await customerWith(world, free);
    await admin.db.execute(sql`
      WITH c AS (INSERT INTO customer (uid, name) SELECT md5(n::text), 'x' FROM generate_series(1, 250) n RETURNING id)
      INSERT INTO subscription (customer_id, uid, plan_id, status, anchor_at, anchor_amount, anchor_unit, period_no,
                                current_period_started_at, current_period_ends_at, next_step_at)
      SELECT c.id, md5(c.id::text), s.plan_id, 'active', s.anchor_at, 1, 'month', 1, s.current_period_started_at,
             s.current_period_ends_at, s.next_step_at
        FROM c, subscription s WHERE s.customer_id = ${customer.id}`);
    expect(await tick('2026-02-28T10:00:00.000Z')).toBe(251);
    expect(await tick('2026-02-28T10:00:00.000Z')).toBe(0);
  });
});
