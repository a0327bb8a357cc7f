/**
 * Fifty callers at once, on two processes, want the money of one invoice: jobs that charge, renewals, syncs, buttons, pages, returning browsers
 * and administrators who record it by hand. It is charged once, paid once, and what came more than once is the customer's credit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { DueCustomer } from '../support/gateway-customers.ts';
import { openPayingWorld, PRICE, WAIT, type VendorName } from '../support/paying-world.ts';
import { faultsInBooks, totalsOf } from '../support/payment-books.ts';
import type { Program } from '../support/program.ts';

const world = await openPayingWorld();
const { app, stripe, paypal } = world;
const { db } = app.ctx;
let both: readonly [Program, Program];
beforeAll(async () => {
  both = [await world.startProgram(), await world.startProgram()];
});

const programAt = (index: number): Program => (index % 2 === 0 ? both[0] : both[1]);

/** An answer, or a refusal: both are right; a fault of the server is not. */
async function ask(index: number, url: string, asked: { token?: string; body?: object } = {}): Promise<void> {
  const { token, body } = asked;
  const { status, headers } = await fetch(url.replace(app.baseUrl, programAt(index).baseUrl), {
    redirect: 'manual',
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'Content-Type': 'application/json', ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
  });
  // On a busy machine some of so many may wait ten seconds for the customer's row, and are told to come again.
  if (status === 503 && headers.has('retry-after')) return sleep(500).then(() => ask(index, url, asked));
  expect(status).toBeLessThan(500);
}

const api = (path: string) => `${app.baseUrl}/api/v1${path}`;

/** Runs each of them so often, all at once. */
async function storm(
  callers: readonly (readonly [times: number, call: (index: number) => Promise<void>])[],
): Promise<void> {
  await Promise.all(callers.flatMap(([times, call]) => Array.from({ length: times }, (_, index) => call(index))));
}

async function pageOf({ invoice, token }: DueCustomer): Promise<string> {
  const { body } = await app.rest(`/invoices/${invoice}`, { token });
  return /"checkout_url":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? '';
}

/** All money has paid an invoice, or is credit. */
async function expectBooks(customer: DueCustomer, charges: number): Promise<void> {
  expect(await world.movedAtVendor(customer)).toEqual({ charges, objects: charges });
  expect(await faultsInBooks(db, customer.customerId)).toEqual([]);
  const { paid, credited, offline } = await totalsOf(db, customer.customerId);
  expect(paid + credited).toBe(PRICE * BigInt(charges) + offline);
}

/** What a customer does who opens the page: presses the button if there is one, pays at the vendor, and comes back. */
async function payWhereItLeads(vendor: VendorName, invoice: DueCustomer): Promise<void> {
  const url = await world.checkout(vendor, invoice);
  if (URL.canParse(url)) {
    const location = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    const isVendors = location.startsWith(`http://${world[vendor].host}/`);
    if (isVendors) await fetch(world.payAtVendor(vendor, location), { redirect: 'manual' });
  }
  await world.runSync();
  await world.untilIdle();
}

const lost: readonly (readonly [VendorName, string, string, boolean])[] = [
  ['stripe', 'nobody knows whether the object was made', '/payment_intents', true],
  ['stripe', 'nobody knows whether it was charged', '/confirm', true],
  ['paypal', 'nobody knows whether the object was made', '/v2/checkout/orders', true],
  ['paypal', 'nobody knows whether it was charged', '/capture', true],
];

test.for(lost)(
  'a saved method (%s) is charged once by fifty callers on two processes, when %s',
  async ([vendor, , path, after]) => {
    const customer = await world.customerWithMethod(vendor);
    await world.endPeriod(customer);
    const double = vendor === 'stripe' ? stripe : paypal;
    double.faults.push({ path, after, act: (res) => void res.destroy() });
    await world.runRenewals();
    await expect.poll(() => double.faults.length, WAIT).toBe(0);
    const renewal = (await world.intentsOf(customer)).at(-1);
    const { token } = customer;
    const invoice = { ...customer, invoice: renewal?.invoice ?? '' };
    const page = await pageOf(invoice);
    const checkout = { gateway_uid: world.gateways[vendor] };
    await storm([
      [12, () => world.runCharge(customer, renewal?.uid ?? '')],
      [4, () => world.runRenewals()],
      [4, () => world.runSync()],
      [12, (index) => ask(index, api(`/invoices/${invoice.invoice}/refresh`), { token, body: {} })],
      [10, (index) => ask(index, api(`/invoices/${invoice.invoice}/checkout`), { token, body: checkout })],
      [10, (index) => ask(index, page)],
    ]);
    await world.untilIdle();
    // The button may have come before the charge: then the customer pays where it leads. A charge under way refuses it until it is known.
    const payOpen = async () => {
      if ((await world.invoicesOf(customer)).includes('pending')) await payWhereItLeads(vendor, invoice);
      return world.invoicesOf(customer);
    };
    await expect.poll(payOpen, WAIT).toEqual(['paid', 'paid']);
    // No button has taken a charge that had begun: it would be lost to both.
    const lostCharges = (await world.intentsOf(customer)).filter((one) => one.isCharged && one.status !== 'SUCCEEDED');
    expect(lostCharges).toEqual([]);
    await expectBooks(customer, 2);
    expect(await totalsOf(db, customer.customerId)).toMatchObject({ credited: 0n });
    const succeeded = (await world.intentsOf(customer)).filter(({ status }) => status === 'SUCCEEDED');
    expect(succeeded).toHaveLength(2);
  },
);

test.for([
  ['stripe', 0],
  ['paypal', 0],
  ['stripe', 5],
  ['paypal', 5],
] as const)(
  'a checkout (%s) that was paid is recorded once by fifty callers on two processes, %d of them administrators',
  async ([vendor, byHand]) => {
    const customer = await world.dueCustomer();
    const { token, invoice } = customer;
    const page = await pageOf(customer);
    const begun = await fetch(await world.checkout(vendor, customer), { redirect: 'manual' });
    const back = world.payAtVendor(vendor, begun.headers.get('location') ?? '');
    const payments = async () =>
      (await world.intentsOf(customer)).filter(({ status }) => status === 'SUCCEEDED').length;
    await storm([
      [
        byHand,
        (index) => ask(index, api(`/invoices/${invoice}/pay`), { token: app.adminToken, body: { note: 'Cash.' } }),
      ],
      [15, (index) => ask(index, back)],
      [15, (index) => ask(index, api(`/invoices/${invoice}/refresh`), { token, body: {} })],
      [10, (index) => ask(index, page)],
      [5, () => world.runSync()],
    ]);
    await world.runSync();
    await world.untilIdle();
    expect(await world.invoicesOf(customer)).toEqual(['paid']);
    // PayPal's orders are captured by us: one whose invoice was paid by hand before that never is.
    const { charges } = await world.movedAtVendor(customer);
    expect(charges).toBeLessThanOrEqual(1);
    if (byHand === 0 || vendor === 'stripe') expect(charges).toBe(1);
    await expectBooks(customer, charges);
    // One payment record; an administrator's beside the vendor's money makes that credit.
    expect(await payments()).toBe(1);
  },
);

test('the periodic syncs of two processes at once record each payment once', async () => {
  const customers: DueCustomer[] = [];
  for (let index = 0; index < 12; index += 1) {
    const customer = await world.dueCustomer();
    const vendor = index % 2 === 0 ? 'stripe' : 'paypal';
    const begun = await fetch(await world.checkout(vendor, customer), { redirect: 'manual' });
    world.payAtVendor(vendor, begun.headers.get('location') ?? '');
    customers.push(customer);
  }
  const reads = () =>
    [...stripe.requests, ...paypal.requests].filter((request) => /^GET .*(cs_test_|orders\/)/.test(request));
  const before = reads().length;
  await storm([[6, () => world.runSync()]]);
  await world.untilIdle();
  for (const customer of customers) {
    expect(await world.invoicesOf(customer)).toEqual(['paid']);
    await expectBooks(customer, 1);
    expect(await totalsOf(db, customer.customerId)).toMatchObject({ credited: 0n });
  }
  // They did run at once: more was read than there was.
  const seen = reads().slice(before);
  expect(seen.length).toBeGreaterThan(new Set(seen).size);
});
