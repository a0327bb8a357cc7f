/**
 * kill -9 of the program that takes payments, at each step between an invoice and its record, with Stripe and with PayPal: after a new start each
 * invoice is paid once, at the vendor exactly once. The moment of the death is a statement, or a request that the vendor has got.
 */
import { beforeAll, expect, test } from 'vitest';
import type { DueCustomer } from '../support/gateway-customers.ts';
import type { KillAt } from '../support/kill-at-statement.ts';
import { openPayingWorld, PRICE, WAIT, type VendorName } from '../support/paying-world.ts';
import { faultsInBooks, totalsOf } from '../support/payment-books.ts';
import type { Program } from '../support/program.ts';

const world = await openPayingWorld();
const { app, stripe, paypal } = world;
const { db } = app.ctx;
let program: Program;
beforeAll(async () => void (program = await world.startProgram()));

/** So many invoices, each paid once and by one charge, and nothing else. */
async function expectPaidOnce(customer: DueCustomer, invoices: number): Promise<void> {
  const paid = Array.from({ length: invoices }, () => 'paid');
  await expect.poll(() => world.invoicesOf(customer), WAIT).toEqual(paid);
  // Whatever is still on its way arrives.
  await world.runSync();
  await world.untilIdle();
  expect(await world.invoicesOf(customer)).toEqual(paid);
  expect(await world.movedAtVendor(customer)).toEqual({ charges: invoices, objects: invoices });
  const succeeded = (await world.intentsOf(customer)).filter(({ status }) => status === 'SUCCEEDED');
  expect(new Set(succeeded.map(({ invoice }) => invoice)).size).toBe(invoices);
  expect(succeeded).toHaveLength(invoices);
  expect(await faultsInBooks(db, customer.customerId)).toEqual([]);
  expect(await totalsOf(db, customer.customerId)).toMatchObject({ paid: PRICE * BigInt(invoices), credited: 0n });
}

type Request = { readonly path: string; readonly acts: boolean };
type Step = readonly [name: string, at: KillAt | Record<VendorName, Request>];

const request = (stripePath: string, paypalPath: string, acts: boolean): Record<VendorName, Request> => ({
  stripe: { path: stripePath, acts },
  paypal: { path: paypalPath, acts },
});
const MARK_CHARGED = 'SET charged_at = coalesce(p.charged_at';
const WRITE_STATUS = 'UPDATE payment_intent AS p SET status =';

const steps: readonly Step[] = [
  [
    'the invoice and its intent are written, and not committed',
    { statement: 'INSERT INTO payment_intent', when: 'answered' },
  ],
  ['the invoice and its intent are committed', { statement: 'INSERT INTO payment_intent', when: 'committed' }],
  [
    'the vendor has got the request for the object, and does nothing',
    request('/payment_intents', '/v2/checkout/orders', false),
  ],
  [
    'the vendor has made the object, and nobody reads its answer',
    request('/payment_intents', '/v2/checkout/orders', true),
  ],
  ['the reference is written, and not committed', { statement: MARK_CHARGED, when: 'answered' }],
  ['the reference is committed', { statement: MARK_CHARGED, when: 'committed' }],
  ['the vendor has got the charge, and does nothing', request('/confirm', '/capture', false)],
  ['the vendor has charged, and nobody reads its answer', request('/confirm', '/capture', true)],
  ['the answer is read, and nothing of it is written', { statement: WRITE_STATUS, when: 'before' }],
  ['the state is written, and not committed', { statement: WRITE_STATUS, when: 'answered' }],
  ['the invoice is paid, and that is not committed', { statement: 'UPDATE invoice SET status', when: 'answered' }],
  ['the state is committed', { statement: WRITE_STATUS, when: 'committed' }],
];

/** Requests differ by the vendor; statements do not, and are played with one after the other. */
const vendorsAt = (at: Step[1], index: number): readonly VendorName[] =>
  'when' in at ? [index % 2 === 0 ? 'stripe' : 'paypal'] : ['stripe', 'paypal'];
const plays = steps.flatMap(([name, at], index) => vendorsAt(at, index).map((vendor) => [vendor, name, at] as const));

test.for(plays)('a saved method is charged (%s), killed when %s', async ([vendor, , at]) => {
  const customer = await world.customerWithMethod(vendor);
  await world.endPeriod(customer);
  if ('when' in at) world.killAt(at);
  else world.killAtRequest(program, { vendor, ...at[vendor] });
  await world.runRenewals();
  await world.untilKilled(program);
  // PayPal keeps request ids for hours only, and nobody knows how long we are down.
  paypal.forgetKeys();
  program = await world.startProgram();
  await world.runRenewals();
  await expectPaidOnce(customer, 2);
});

const atCheckout: readonly (readonly [VendorName, ...Step])[] = [
  ['stripe', 'the vendor has made the checkout, and nobody reads its answer', request('/checkout/sessions', '', true)],
  [
    'stripe',
    'its id is committed, and the browser is not sent there',
    { statement: 'SET reference =', when: 'committed' },
  ],
  ['paypal', 'the vendor has made the checkout, and nobody reads its answer', request('', '/v2/checkout/orders', true)],
  [
    'paypal',
    'its id is committed, and the browser is not sent there',
    { statement: 'SET reference =', when: 'committed' },
  ],
];

/** The same address at the program, instead of the web server of this process. */
const atProgram = (url: string) => url.replace(app.baseUrl, program.baseUrl);
const visit = (url: string) => fetch(atProgram(url), { redirect: 'manual' }).catch(() => undefined);

test.for(atCheckout)(
  'at the checkout (%s), killed when %s: the same address leads there again, and it is paid once',
  async ([vendor, , at]) => {
    const customer = await world.dueCustomer();
    const url = await world.checkout(vendor, customer);
    const made = () => (vendor === 'stripe' ? stripe.sessions.size : paypal.orders.size);
    const before = made();
    if ('when' in at) world.killAt(at);
    else world.killAtRequest(program, { vendor, ...at[vendor] });
    expect(await visit(url)).toBeUndefined();
    await world.untilKilled(program);
    program = await world.startProgram();
    const again = await visit(url);
    expect(made()).toBe(before + 1);
    await visit(world.payAtVendor(vendor, again?.headers.get('location') ?? ''));
    await world.runSync();
    await expectPaidOnce(customer, 1);
  },
);

const onReturn: readonly (readonly [VendorName, string, Request])[] = [
  ['stripe', 'the vendor is asked for the state', { path: '/checkout/sessions/', acts: false }],
  ['paypal', 'the vendor has got the capture, and does nothing', { path: '/capture', acts: false }],
  ['paypal', 'the vendor has captured, and nobody reads its answer', { path: '/capture', acts: true }],
];

test.for(onReturn)(
  'the browser comes back (%s), killed when %s: the sync finds it, without a browser',
  async ([vendor, , at]) => {
    const customer = await world.dueCustomer();
    const first = await visit(await world.checkout(vendor, customer));
    const back = world.payAtVendor(vendor, first?.headers.get('location') ?? '');
    world.killAtRequest(program, { vendor, ...at });
    expect(await visit(back)).toBeUndefined();
    await world.untilKilled(program);
    program = await world.startProgram();
    await world.runSync();
    await expectPaidOnce(customer, 1);
  },
);

test.for(['stripe', 'paypal'] as const)(
  'the payer is at the vendor (%s) when the program is killed, and pays while it is down',
  async (vendor) => {
    const customer = await world.dueCustomer();
    const first = await visit(await world.checkout(vendor, customer));
    await program.kill();
    const back = world.payAtVendor(vendor, first?.headers.get('location') ?? '');
    expect(await visit(back)).toBeUndefined();
    program = await world.startProgram();
    await world.runSync();
    await expectPaidOnce(customer, 1);
  },
);

test('what was paid while the program was stopped is found by the schedule after its start', async () => {
  await program.stop();
  const customers = await Promise.all([world.dueCustomer(), world.dueCustomer()]);
  for (const [index, vendor] of (['stripe', 'paypal'] as const).entries()) {
    const customer = customers[index];
    if (!customer) continue;
    const { headers } = await fetch(await world.checkout(vendor, customer), { redirect: 'manual' });
    world.payAtVendor(vendor, headers.get('location') ?? '');
  }
  // Hours later.
  await world.customers.later('5 hours');
  program = await world.startProgram('web,worker,cron');
  for (const customer of customers)
    await expect.poll(() => world.invoicesOf(customer), { ...WAIT, timeout: 120_000 }).toEqual(['paid']);
  for (const customer of customers) expect(await world.movedAtVendor(customer)).toEqual({ charges: 1, objects: 1 });
});
