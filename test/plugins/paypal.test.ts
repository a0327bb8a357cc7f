/** The bundled gateway `paypal`, its own code on the running product, against a double that behaves as PayPal's documents say. */
import { expect, test } from 'vitest';
import { toMinor, toPayPalMoney } from '../../plugins/mailwright/paypal/amounts.ts';
import { sql } from '../../src/db/database.ts';
import { chargeIntent } from '../../src/domain/billing/saved-methods/charge-intent.ts';
import { syncPayments } from '../../src/domain/billing/payments/sync-payments.ts';
import { installBundled } from '../support/bundled-plugin.ts';
import { gatewayCustomers, type DueCustomer } from '../support/gateway-customers.ts';
import { field } from '../support/mail-world.ts';
import { PAYPAL_ID, PAYPAL_SECRET, PayPalVendor, type PayerMood } from '../support/paypal-vendor.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const paypal = await new PayPalVendor().start();
const dataDir = newDataDir();
installBundled(dataDir, 'paypal', {
  addresses: {
    'https://api-m.sandbox.paypal.com': `http://${paypal.host}`,
    'https://api-m.paypal.com': `http://${paypal.host}/live`,
    'https://www.sandbox.paypal.com': `http://${paypal.host}`,
  },
  hosts: [paypal.host],
  browserHosts: [paypal.host],
});
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web', OUTBOUND_ALLOW_HOSTS: 'localhost' });
await app.rest('/plugins/mailwright/paypal/deactivate', { method: 'POST' });
const { activate } = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
await activate('acme/paypal', { hosts: [paypal.host], browserHosts: [paypal.host] });
const { ctx } = app;

const newGateway = (settings: object) =>
  app.rest('/payment_gateways', { method: 'POST', body: { name: 'PayPal', type: 'paypal', settings } });
const SETTINGS = { mode: 'sandbox', client_id: PAYPAL_ID, client_secret: PAYPAL_SECRET, save_accounts: true };
const gatewayUid = String(field(await newGateway(SETTINGS), 'payment_gateway_uid'));
const { newPlan, refresh, ...customers } = gatewayCustomers(app);
const planUid = await newPlan('EUR', '19.90');
const dueCustomer = (plan = planUid) => customers.dueCustomer(plan);
const later = (interval = '1 minute') => customers.later(interval);

const checkout = ({ invoice, token }: DueCustomer, gateway = gatewayUid) =>
  app.rest(`/invoices/${invoice}/checkout`, { method: 'POST', token, body: { gateway_uid: gateway } });

/** What a browser is told at an address. */
async function open(url: string) {
  const { status, headers } = await fetch(url, { redirect: 'manual' });
  return { status, location: headers.get('location') ?? '', cookie: headers.get('set-cookie') ?? '' };
}

/** From the button to the vendor's page; answers the order. */
async function toPayPal(customer: DueCustomer): Promise<string> {
  const { location } = await open(String(field(await checkout(customer), 'url')));
  expect(location).toMatch(new RegExp(`^http://${paypal.host}/checkoutnow\\?token=\\w+$`));
  return location.split('=').at(-1) ?? '';
}

/** With how many request ids the order was captured. */
const idsOf = (order: string) => [...paypal.captureIds].filter((one) => one.startsWith(`${order} `)).length;
const captures = () => paypal.requests.filter((request) => request.endsWith('/capture')).length;

/** Has paid with a PayPal account that was saved; the renewal is due. */
async function renewalOf(mood: PayerMood) {
  const customer = await dueCustomer();
  await open(paypal.approve(await toPayPal(customer)));
  expect(await refresh(customer)).toMatchObject({ status: 'paid' });
  const saved = [...paypal.vault.keys()].at(-1) ?? '';
  paypal.vault.set(saved, mood);
  return { ...customer, ...(await customers.renewed(customer)), saved };
}

test('credentials are checked by their form, then at PayPal, each mode at its own address', async () => {
  expect(
    field(await newGateway({ mode: 'test', client_id: 'x', client_secret: 5, save_accounts: 'yes' }), 'errors'),
  ).toEqual({
    'settings.mode': ['This must be "live" or "sandbox".'],
    'settings.client_id': [expect.stringContaining('developer dashboard')],
    'settings.client_secret': [expect.stringContaining('developer dashboard')],
    'settings.save_accounts': ['This must be true or false.'],
  });
  const wrong = `${PAYPAL_SECRET}x`;
  const refused = await newGateway({ ...SETTINGS, client_secret: wrong });
  expect(field(refused, 'errors')).toMatchObject({
    connection: [expect.stringContaining('does not accept the client ID')],
  });
  expect(refused.text).not.toContain(wrong);
  await newGateway({ client_id: PAYPAL_ID, client_secret: PAYPAL_SECRET });
  expect(paypal.requests.at(-1)).toBe('POST /live/v1/oauth2/token');
  const shown = await app.rest(`/payment_gateways/${gatewayUid}`);
  expect(shown.text).not.toContain(PAYPAL_SECRET);
  expect(field(shown, 'payment_gateway')).toMatchObject({ settings: { mode: 'sandbox' }, fault: null });
});

test('an invoice is paid at PayPal: approved there, captured when the browser comes back', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  expect(paypal.orders.get(order)).toMatchObject({
    purchase_units: [
      { amount: { currency_code: 'EUR', value: '19.90' }, invoice_id: customer.invoice, reference_id: 'checkout' },
    ],
    payment_source: { paypal: { experience_context: { user_action: 'PAY_NOW', shipping_preference: 'NO_SHIPPING' } } },
  });
  expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
  expect(await toPayPal(customer)).toBe(order);
  const back = await open(paypal.approve(order));
  expect(back.location).toMatch(new RegExp(`^${app.baseUrl}/checkout/offline/|^/checkout/offline/`));
  await later();
  expect(await refresh(customer)).toMatchObject({
    status: 'paid',
    payments: [{ status: 'SUCCEEDED', method: 'paypal', reference: order, sync_error: null }],
  });
});

test('PayPal being down changes nothing; what was approved meanwhile is captured by the periodic sync; refunds are shown', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  paypal.approve(order);
  for (const act of [500, 429, 0]) {
    paypal.faults.push({
      ...{ path: `/${order}`, after: false },
      act: (res) => (act === 0 ? res.end('<html>busy</html>') : res.writeHead(act).end('oops')),
    });
    expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
    await later();
  }
  await syncPayments(ctx);
  expect(await refresh(customer)).toMatchObject({
    status: 'paid',
    payments: [{ status: 'SUCCEEDED', refunded: '0.00' }],
  });
  paypal.refund(order, '5.00');
  paypal.refund(order, '7.00', 'PENDING');
  await later('1 day');
  await syncPayments(ctx);
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ refunded: '5.00' }] });
});

test('JPY, HUF and TWD are sent without decimals; fractions of them, and other currencies, are refused with a sentence', async () => {
  for (const currency of ['JPY', 'HUF', 'TWD']) {
    const order = await toPayPal(await dueCustomer(await newPlan(currency, '900')));
    expect(paypal.orders.get(order)).toMatchObject({
      purchase_units: [{ amount: { currency_code: currency, value: '900' } }],
    });
    expect(await open(paypal.approve(order))).toMatchObject({ status: 303 });
    await later();
    await syncPayments(ctx);
  }
  const [paid] = await ctx.db.query(
    { count: 'bigint' },
    sql`SELECT count(*) FROM payment_intent WHERE currency_code IN ('JPY', 'HUF', 'TWD') AND status = 'SUCCEEDED'`,
  );
  expect(paid?.count).toBe(3n);
  const before = paypal.orders.size;
  const forint = await dueCustomer(await newPlan('HUF', '199.50'));
  const back = await open(String(field(await checkout(forint), 'url')));
  const page = await fetch(new URL(back.location, app.baseUrl), {
    headers: { cookie: back.cookie.split(';')[0] ?? '' },
  });
  expect(await page.text()).toContain('PayPal takes only whole amounts of HUF.');
  expect(paypal.orders.size).toBe(before);
  const refused = await checkout(await dueCustomer(await newPlan('ZAR', '900')));
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('does not take ZAR');
});

test('amounts are exact at any size, and what is no amount is none', () => {
  for (const minor of [0n, 1n, 9n, 10n, 99n, 100n, 1990n, 9_007_199_254_740_993_01n])
    for (const currencyCode of ['EUR', 'ILS']) {
      const { value } = toPayPalMoney({ amountMinor: minor, currencyCode, currencyDigits: 2 });
      expect(value).toMatch(/^\d+\.\d\d$/);
      expect(toMinor(value, currencyCode)).toBe(minor);
    }
  expect(toMinor('900', 'HUF')).toBe(90_000n);
  expect(toMinor('900', 'JPY')).toBe(900n);
  expect(toMinor('900.0', 'JPY')).toBe(900n);
  for (const value of ['19.999', '-1', '1e3', '', '.5', ' 1', '0x10']) expect(toMinor(value, 'EUR')).toBeUndefined();
  expect(toMinor('1', 'XXX')).toBeUndefined();
});

test('a declined card leads the payer back to PayPal; only another approval is captured', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  const back = await open(paypal.approve(order, 'declines'));
  expect(back.location).toBe(`http://${paypal.host}/checkoutnow?token=${order}`);
  await later();
  expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'REQUIRES_ACTION' }] });
  const before = captures();
  await later();
  expect(await refresh(customer)).toMatchObject({ payments: [{ status: 'REQUIRES_ACTION' }] });
  expect(captures()).toBe(before);
  // The button leads there, too.
  expect(await toPayPal(customer)).toBe(order);
  await open(paypal.approve(order, 'pays'));
  // The decline must not be repeated: another approval is another act.
  expect(idsOf(order)).toBe(2);
  await later();
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
});

test('a bank debit is not paid while it is pending; it is when PayPal has the money, and fails with the reason if the bank refuses', async () => {
  const [good, bad] = [await dueCustomer(), await dueCustomer()];
  const [goodOrder, badOrder] = [await toPayPal(good), await toPayPal(bad)];
  await open(paypal.approve(goodOrder, 'bank'));
  await open(paypal.approve(badOrder, 'bank'));
  for (const customer of [good, bad, good, bad]) {
    await later();
    expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
  }
  // Nothing takes its place meanwhile, however long it takes.
  await ctx.db.execute(sql`UPDATE payment_intent SET charged_at = charged_at - interval '20 days'`);
  await later();
  expect((await checkout(bad)).text).toContain('is under way');
  expect(await refresh(bad)).toMatchObject({ payments: [{ status: 'PENDING' }] });
  paypal.settle(goodOrder, 'COMPLETED');
  paypal.settle(badOrder, 'DECLINED');
  await later();
  await syncPayments(ctx);
  expect(await refresh(good)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
  expect(await refresh(bad)).toMatchObject({
    status: 'pending',
    payments: [{ status: 'FAILED', reason: 'The bank debit did not succeed.' }],
  });
  expect(await toPayPal(bad)).not.toBe(badOrder);
});

test('a payment that PayPal refuses has failed, with its reason', async () => {
  const customer = await dueCustomer();
  await open(paypal.approve(await toPayPal(customer), 'refuses'));
  await later();
  expect(await refresh(customer)).toMatchObject({
    payments: [{ status: 'FAILED', reason: 'The request was refused.' }],
  });
});

test('fifty captures at once, from browsers and the sync, charge once', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  const before = paypal.charges.length;
  const url = paypal.approve(order);
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? open(url) : refresh(customer).catch(() => undefined))),
  );
  await later();
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
  expect(idsOf(order)).toBe(1);
  expect(paypal.charges.length).toBe(before + 1);
});

test('the answer of a capture is lost: the next read finds the payment, also after PayPal has forgotten the request', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  const before = paypal.charges.length;
  paypal.faults.push({ path: '/capture', after: true, act: (res) => void res.destroy() });
  const back = await open(paypal.approve(order));
  // Nobody who may have paid is told to pay in another way.
  const page = await fetch(new URL(back.location, app.baseUrl), {
    headers: { cookie: back.cookie.split(';')[0] ?? '' },
  });
  expect(await page.text()).toMatch(/has not answered yet|is paid/);
  paypal.forgetKeys();
  await later();
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
  expect(paypal.charges.length).toBe(before + 1);
});

test('an order that was captured by somebody else in the same moment is read again, and is paid', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  const url = paypal.approve(order);
  const approved = JSON.stringify({ ...paypal.orders.get(order), update_time: '2026-01-01T00:00:00Z' });
  await open(url);
  const before = captures();
  paypal.faults.push({ path: `/${order}`, after: false, act: (res) => void res.end(approved) });
  await later();
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
  expect(captures()).toBe(before + 1);
  expect(paypal.charges.filter((one) => one === order)).toHaveLength(1);
});

test('an order that PayPal has forgotten is cancelled and another one is begun', async () => {
  const customer = await dueCustomer();
  const first = await toPayPal(customer);
  paypal.forgetOrder(first);
  await later();
  expect(await refresh(customer)).toMatchObject({ payments: [{ status: 'CANCELLED' }] });
  const second = await toPayPal(customer);
  expect(second).not.toBe(first);
  await open(paypal.approve(second));
  await later();
  expect(await refresh(customer)).toMatchObject({ status: 'paid' });
});

test('an order of a closed payment is not captured: neither by the sync nor when the browser comes back', async () => {
  const customer = await dueCustomer();
  const order = await toPayPal(customer);
  const other = String(field(await newGateway({ ...SETTINGS, save_accounts: false }), 'payment_gateway_uid'));
  expect((await checkout(customer, other)).status).toBe(201);
  const before = captures();
  const back = await open(paypal.approve(order));
  expect(back.status).toBe(404);
  await later();
  await syncPayments(ctx);
  expect(captures()).toBe(before);
  expect(await refresh(customer)).toMatchObject({
    status: 'pending',
    payments: [{ status: 'CANCELLED' }, { status: 'PENDING' }],
  });
});

test('lost answers and many browsers lead to one order; one token serves them, and is renewed when PayPal ends it', async () => {
  const customer = await dueCustomer();
  const before = paypal.orders.size;
  const url = String(field(await checkout(customer), 'url'));
  paypal.faults.push({ path: '/v2/checkout/orders', after: true, act: (res) => void res.destroy() });
  const cut = await open(url);
  expect(cut.location).toContain('/checkout/offline/');
  expect(cut.cookie).toContain('mailwright_flash=');
  paypal.endTokens();
  const tokens = () => paypal.requests.filter((request) => request.endsWith('/oauth2/token')).length;
  const tokensBefore = tokens();
  await Promise.all(Array.from({ length: 20 }, () => open(url)));
  expect(tokens() - tokensBefore).toBe(1);
  expect(paypal.orders.size).toBe(before + 1);
  expect((await open(url)).location).toBe(
    `http://${paypal.host}/checkoutnow?token=${[...paypal.orders.keys()].at(-1)}`,
  );
});

test('a saved account pays the renewal, charged once by 50 callers and over lost answers at each step', async () => {
  const { intentUid, ...renewal } = await renewalOf('pays');
  const before = paypal.charges.length;
  // The answer of each step is lost once after the step was done, as when the process dies there.
  paypal.faults.push({ path: '/v2/checkout/orders', after: true, act: (res) => void res.destroy() });
  await expect(chargeIntent(ctx, { intentUid })).rejects.toThrow();
  paypal.faults.push({ path: '/capture', after: true, act: (res) => void res.destroy() });
  await expect(chargeIntent(ctx, { intentUid })).rejects.toThrow();
  paypal.forgetKeys();
  await Promise.allSettled(Array.from({ length: 50 }, () => chargeIntent(ctx, { intentUid })));
  expect(paypal.charges.length).toBe(before + 1);
  expect(await refresh(renewal)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
});

test('fifty first charges of a saved account at once move the money once', async () => {
  const { intentUid, ...renewal } = await renewalOf('pays');
  const before = paypal.charges.length;
  await Promise.allSettled(Array.from({ length: 50 }, () => chargeIntent(ctx, { intentUid })));
  expect(idsOf(paypal.charges.at(-1) ?? '')).toBe(1);
  expect(paypal.charges.length).toBe(before + 1);
  expect(await refresh(renewal)).toMatchObject({ status: 'paid' });
});

test('a saved account that is declined leaves the invoice open with the reason; the customer pays at PayPal', async () => {
  const renewal = await renewalOf('declines');
  // The answer is lost: the next attempt is the same act.
  paypal.faults.push({ path: '/capture', after: true, act: (res) => void res.destroy() });
  await expect(chargeIntent(ctx, { intentUid: renewal.intentUid })).rejects.toThrow();
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  expect(idsOf([...paypal.orders.keys()].at(-1) ?? '')).toBe(1);
  expect(await refresh(renewal)).toMatchObject({
    status: 'pending',
    next_charge_at: expect.any(String),
    payments: [{ status: 'FAILED', reason: expect.stringContaining('declined by the processor') }],
  });
  await open(paypal.approve(await toPayPal(renewal)));
  expect(await refresh(renewal)).toMatchObject({ status: 'paid' });
});

test('PayPal wants the payer to act: the checkout takes the place of the charge', async () => {
  const renewal = await renewalOf('challenges');
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  await later();
  expect(await refresh(renewal)).toMatchObject({ payments: [{ status: 'REQUIRES_ACTION' }] });
  await open(paypal.approve(await toPayPal(renewal)));
  expect(await refresh(renewal)).toMatchObject({
    status: 'paid',
    payments: [{ status: 'CANCELLED' }, { status: 'SUCCEEDED' }],
  });
});

test('PayPal does not let the merchant save accounts: customers pay nevertheless', async () => {
  const customer = await dueCustomer();
  paypal.mayVault = false;
  const saved = paypal.vault.size;
  const order = await toPayPal(customer);
  paypal.mayVault = true;
  await open(paypal.approve(order));
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ reference: order }] });
  expect(paypal.vault.size).toBe(saved);
});

test('an account that the payer has removed at PayPal fails with a sentence', async () => {
  const renewal = await renewalOf('pays');
  paypal.vault.delete(renewal.saved);
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  expect(await refresh(renewal)).toMatchObject({
    next_charge_at: null,
    payments: [{ status: 'FAILED', reason: expect.stringContaining('Specified token was not found.') }],
  });
});
