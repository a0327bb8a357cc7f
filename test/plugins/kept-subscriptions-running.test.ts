/**
 * Subscriptions that Stripe and PayPal keep, from the link of the plans to the end, on a running product in a process of its own: by its REST and
 * GraphQL interfaces, its pages and its jobs, with the vendors' doubles.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import type { DueCustomer } from '../support/gateway-customers.ts';
import { keptVendors } from '../support/kept-vendors.ts';
import { openPayingWorld, PRICE, WAIT, type VendorName } from '../support/paying-world.ts';
import { faultsInBooks, totalsOf } from '../support/payment-books.ts';
import type { Program } from '../support/program.ts';

const world = await openPayingWorld();
const { app, stripe, paypal } = world;
const { db } = app.ctx;
const vendors = keptVendors(stripe, paypal);
let program: Program;
beforeAll(async () => void (program = await world.startProgram()));
afterAll(() => program.stop());

/** A plan that is linked with one of the vendor's. */
async function linkedPlan(vendor: VendorName): Promise<string> {
  const plan = await world.customers.newPlan('EUR', '19.90');
  const remotePlanId = `plan_${plan}`;
  vendors[vendor].addPlan(remotePlanId);
  const { body: remotePlans } = await app.rest(`/payment_gateways/${world.gateways[vendor]}/remote_plans`);
  expect(remotePlans).toContainEqual(expect.objectContaining({ id: remotePlanId, price: '19.90', plan_uid: null }));
  const body = { gateway_uid: world.gateways[vendor], remote_plan_id: remotePlanId };
  expect(await app.rest(`/plans/${plan}/remote_plan`, { method: 'POST', body })).toMatchObject({ status: 201 });
  return plan;
}

async function graphql(token: string, query: string, variables: object): Promise<unknown> {
  const response = await fetch(`${program.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data } = await response.json();
  return data.it;
}

const SHOWN =
  '... on PlanSubscription { uid status graceEndsAt remoteSubscription { remoteId isActive isEnded methodTitle } }';

/** The customer's latest subscription, as the customer sees it. */
async function shown({ customerId, token }: DueCustomer): Promise<unknown> {
  const query = `query ($uid: String!) { it: subscription(uid: $uid) { ${SHOWN} } }`;
  return graphql(token, query, { uid: await uidOf(customerId) });
}

async function uidOf(customerId: bigint): Promise<string> {
  const [row] = await db.query(
    { uid: 'text' },
    sql`SELECT uid FROM subscription WHERE customer_id = ${customerId} ORDER BY id DESC LIMIT 1`,
  );
  return row?.uid ?? '';
}

/** The browser of the customer is at the vendor then; undefined: the program has died. */
async function toVendor(vendor: VendorName, customer: DueCustomer): Promise<string | undefined> {
  const url = (await world.checkout(vendor, customer)).replace(app.baseUrl, program.baseUrl);
  const answer = await fetch(url, { redirect: 'manual' }).catch(() => undefined);
  return answer?.headers.get('location') ?? undefined;
}

/** Payments, and what vendors keep, are read as when their time has come. */
async function sync({ customerId }: DueCustomer): Promise<void> {
  await db.execute(
    sql`UPDATE remote_subscription SET next_sync_at = now() - interval '1 second' WHERE customer_id = ${customerId}`,
  );
  await world.runSync();
  await world.untilIdle();
}

/** Its customer has agreed at the vendor, which has the first money. */
async function subscriber(vendor: VendorName): Promise<{ customer: DueCustomer; id: string }> {
  const kept = vendors[vendor];
  const customer = await world.customers.dueCustomer(await linkedPlan(vendor));
  const id = kept.agree((await toVendor(vendor, customer)) ?? '');
  kept.payFirst(id);
  await sync(customer);
  expect(await world.invoicesOf(customer)).toEqual(['paid']);
  return { customer, id };
}

async function expectBooks(customer: DueCustomer, periods: number): Promise<void> {
  expect(await world.invoicesOf(customer)).toEqual(Array.from({ length: periods }, () => 'paid'));
  expect(await faultsInBooks(db, customer.customerId)).toEqual([]);
  const sums = { paid: PRICE * BigInt(periods), credited: 0n, offline: 0n };
  expect(await totalsOf(db, customer.customerId)).toMatchObject(sums);
}

const names = ['paypal', 'stripe'] as const;

test.for(names)(
  'begun at %s once, also when the program dies meanwhile, and paid there by the payer',
  async (vendor) => {
    const kept = vendors[vendor];
    const customer = await world.customers.dueCustomer(await linkedPlan(vendor));
    const before = kept.begun;
    world.killAtRequest(program, { vendor, path: kept.beginPath, acts: true });
    expect(await toVendor(vendor, customer)).toBeUndefined();
    await world.untilKilled(program);
    program = await world.startProgram();
    const location = await toVendor(vendor, customer);
    expect(await toVendor(vendor, customer)).toBe(location);
    expect(kept.begun).toBe(before + 1);
    await sync(customer);
    expect(await world.invoicesOf(customer)).toEqual(['pending']);
    const id = kept.agree(location ?? '');
    if (kept.isPaidLater) {
      await sync(customer);
      const body = { gateway_uid: world.gateways[vendor] };
      const path = `/invoices/${customer.invoice}/checkout`;
      const again = await app.rest(path, { method: 'POST', token: customer.token, body });
      expect(again.text).toContain('is under way');
      kept.payFirst(id);
    }
    await sync(customer);
    expect(await shown(customer)).toMatchObject({
      status: 'active',
      remoteSubscription: { remoteId: id, isActive: true, isEnded: false },
    });
    await expectBooks(customer, 1);
  },
);

test.for(names)('periods at %s: paid, unpaid for some days of grace, and paid late; cancelled here', async (vendor) => {
  const kept = vendors[vendor];
  const { customer, id } = await subscriber(vendor);
  const before = kept.singles;
  kept.renew(id, true);
  await sync(customer);
  await expectBooks(customer, 2);
  kept.renew(id, false);
  await sync(customer);
  await world.runRenewals();
  await world.untilIdle();
  expect(await shown(customer)).toMatchObject({ status: 'active', graceEndsAt: expect.any(String) });
  kept.pay(id);
  await sync(customer);
  await expectBooks(customer, 3);
  expect(await shown(customer)).toMatchObject({ status: 'active', graceEndsAt: null });
  // Nothing was charged beside it.
  expect(kept.singles).toBe(before);
  const cancel = `mutation ($uid: String!) { it: cancelSubscription(uid: $uid) { ${SHOWN} } }`;
  expect(await graphql(customer.token, cancel, { uid: await uidOf(customer.customerId) })).toMatchObject({
    status: 'cancelled',
  });
  await expect.poll(() => kept.isEnded(id), WAIT).toBe(true);
  await sync(customer);
  expect(await shown(customer)).toMatchObject({ status: 'cancelled', remoteSubscription: { isEnded: true } });
  await expectBooks(customer, 3);
});

test.for(names)(
  'ended by the payer at %s; a period that was paid before is counted once, killed or not',
  async (vendor) => {
    const kept = vendors[vendor];
    const { customer, id } = await subscriber(vendor);
    kept.renew(id, true);
    kept.renew(id, true);
    world.killAt({ statement: 'INSERT INTO payment_intent', when: 'answered' });
    await db.execute(
      sql`UPDATE remote_subscription SET next_sync_at = now() WHERE customer_id = ${customer.customerId}`,
    );
    await world.runSync();
    await world.untilKilled(program);
    kept.end(id);
    program = await world.startProgram();
    await sync(customer);
    await sync(customer);
    expect(await shown(customer)).toMatchObject({ status: 'cancelled', remoteSubscription: { isEnded: true } });
    await expectBooks(customer, 3);
  },
);
