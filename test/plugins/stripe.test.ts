/** The bundled gateway `stripe`, its own code on the running product, against a double that behaves as Stripe's documents say. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { stateOfPaymentIntent } from '../../plugins/mailwright/stripe/vendor-state.ts';
import { sql } from '../../src/db/database.ts';
import { chargeIntent } from '../../src/domain/billing/saved-methods/charge-intent.ts';
import { syncPayments } from '../../src/domain/billing/payments/sync-payments.ts';
import type { RemoteSubscriptionPage } from '../../src/plugin-api/index.ts';
import { installBundled } from '../support/bundled-plugin.ts';
import { gatewayCustomers, type DueCustomer } from '../support/gateway-customers.ts';
import { field } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';
import { STRIPE_KEY, StripeDouble, type CardMood } from '../support/stripe-double.ts';

const stripe = await new StripeDouble().start();
const dataDir = newDataDir();
installBundled(dataDir, 'stripe', {
  addresses: { 'https://api.stripe.com': `http://${stripe.host}` },
  hosts: [stripe.host],
  browserHosts: [stripe.host],
});
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web', OUTBOUND_ALLOW_HOSTS: 'localhost' });
await app.rest('/plugins/mailwright/stripe/deactivate', { method: 'POST' });
const { activate } = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
await activate('acme/stripe', { hosts: [stripe.host], browserHosts: [stripe.host] });
const { ctx } = app;

const newGateway = (settings: object) =>
  app.rest('/payment_gateways', { method: 'POST', body: { name: 'Card', type: 'stripe', settings } });
const gatewayUid = String(field(await newGateway({ secret_key: STRIPE_KEY }), 'payment_gateway_uid'));
const { newPlan, refresh, later, ...customers } = gatewayCustomers(app);
const planUid = await newPlan('EUR', '19.90');
const dueCustomer = (plan = planUid) => customers.dueCustomer(plan);

async function syncAll(): Promise<void> {
  await later('1 minute');
  await syncPayments(ctx);
}

/** From the button to the vendor's page; answers the session. */
async function toStripe({ invoice, token }: DueCustomer): Promise<string> {
  const body = { gateway_uid: gatewayUid };
  const begun = await app.rest(`/invoices/${invoice}/checkout`, { method: 'POST', token, body });
  const answer = await fetch(String(field(begun, 'url')), { redirect: 'manual' });
  const location = answer.headers.get('location') ?? '';
  expect(location).toMatch(new RegExp(`^http://${stripe.host}/c/pay/cs_test_`));
  return location.split('/').at(-1) ?? '';
}

/** Has paid with a card that Stripe keeps; the renewal is due. */
async function renewalOf(mood: CardMood) {
  const customer = await dueCustomer();
  stripe.pay(await toStripe(customer), mood);
  expect(await refresh(customer)).toMatchObject({ status: 'paid' });
  return { ...customer, ...(await customers.renewed(customer)) };
}

test('a key is checked by its form, then at Stripe; a wrong one is not repeated in the message', async () => {
  expect(field(await newGateway({ secret_key: 'pk_test_0123456789ab' }), 'errors')).toMatchObject({
    'settings.secret_key': [expect.stringContaining('begins with sk_live_')],
  });
  const refused = await newGateway({ secret_key: 'sk_test_wrong_0123456789' });
  expect(field(refused, 'errors')).toMatchObject({ connection: [expect.stringContaining('Invalid API Key')] });
  const shown = await app.rest(`/payment_gateways/${gatewayUid}`);
  expect(field(shown, 'payment_gateway')).toMatchObject({ settings: { save_cards: true }, fault: null });
});

test('an invoice is paid at the hosted checkout: the amount in cents, the intent as reference, both checked', async () => {
  const customer = await dueCustomer();
  const session = await toStripe(customer);
  expect(stripe.sessions.get(session)).toMatchObject({ amount_total: 1990, currency: 'eur', status: 'open' });
  expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
  expect(await toStripe(customer)).toBe(session);
  stripe.pay(session);
  await later('1 minute');
  expect(await refresh(customer)).toMatchObject({
    status: 'paid',
    payments: [{ status: 'SUCCEEDED', method: 'stripe', reference: session, sync_error: null }],
  });
});

test('currencies without decimals are sent whole; those of which nobody is sure are refused', async () => {
  const yen = await dueCustomer(await newPlan('JPY', '900'));
  expect(stripe.sessions.get(await toStripe(yen))).toMatchObject({ amount_total: 900, currency: 'jpy' });
  const crowns = await dueCustomer(await newPlan('ISK', '900'));
  const body = { gateway_uid: gatewayUid };
  const refused = await app.rest(`/invoices/${crowns.invoice}/checkout`, { method: 'POST', token: crowns.token, body });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('does not take ISK');
});

test('twenty browsers at once get one session; a cut connection and a process that dies lead to the same one', async () => {
  const customer = await dueCustomer();
  const before = stripe.sessions.size;
  const body = { gateway_uid: gatewayUid };
  const begun = await app.rest(`/invoices/${customer.invoice}/checkout`, {
    method: 'POST',
    token: customer.token,
    body,
  });
  const url = String(field(begun, 'url'));
  stripe.faults.push({ path: '/checkout/sessions', after: true, act: (res) => void res.destroy() });
  const cut = await fetch(url, { redirect: 'manual' });
  expect(cut.headers.get('location')).toContain('/checkout/offline/');
  expect(cut.headers.get('set-cookie')).toContain('mailwright_flash=');
  await Promise.all(Array.from({ length: 20 }, () => fetch(url, { redirect: 'manual' })));
  const [location] = [(await fetch(url, { redirect: 'manual' })).headers.get('location')];
  expect(stripe.sessions.size).toBe(before + 1);
  expect(location).toBe(`http://${stripe.host}/c/pay/${[...stripe.sessions.keys()].at(-1)}`);
});

test('an expired checkout is cancelled and can be begun anew; another way to pay makes it unpayable at Stripe', async () => {
  const customer = await dueCustomer();
  const first = await toStripe(customer);
  stripe.expire(first);
  expect(await refresh(customer)).toMatchObject({ payments: [{ status: 'CANCELLED' }] });
  const second = await toStripe(customer);
  expect(second).not.toBe(first);
  const other = String(field(await newGateway({ secret_key: STRIPE_KEY, save_cards: false }), 'payment_gateway_uid'));
  await app.rest(`/invoices/${customer.invoice}/checkout`, {
    ...{ method: 'POST', token: customer.token, body: { gateway_uid: other } },
  });
  expect(stripe.sessions.get(second)).toMatchObject({ status: 'expired' });
});

test('Stripe being down changes nothing; what was paid meanwhile is found by the periodic sync; a refund is shown', async () => {
  const customer = await dueCustomer();
  const session = await toStripe(customer);
  stripe.pay(session);
  for (const act of [500, 429, 0])
    stripe.faults.push({
      ...{ path: `/checkout/sessions/${session}`, after: false },
      act: (res) => (act === 0 ? res.end('<html>busy</html>') : res.writeHead(act).end('oops')),
    });
  for (const _ of [1, 2, 3]) {
    expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
    await later('1 minute');
  }
  await syncPayments(ctx);
  expect(await refresh(customer)).toMatchObject({
    status: 'paid',
    payments: [{ status: 'SUCCEEDED', refunded: '0.00' }],
  });
  stripe.refund(session, 500);
  await later('1 day');
  await syncPayments(ctx);
  expect(await refresh(customer)).toMatchObject({ status: 'paid', payments: [{ refunded: '5.00' }] });
});

test('a saved card pays the renewal, charged once by 50 callers and over lost answers at each step', async () => {
  const renewal = await renewalOf('pays');
  const before = stripe.charges.length;
  const { intentUid } = renewal;
  // The answer of each step is lost once after the step was done, as when the process dies there.
  stripe.faults.push({ path: '/payment_intents', after: true, act: (res) => void res.destroy() });
  await expect(chargeIntent(ctx, { intentUid })).rejects.toThrow();
  stripe.faults.push({ path: '/confirm', after: true, act: (res) => void res.destroy() });
  await expect(chargeIntent(ctx, { intentUid })).rejects.toThrow();
  await Promise.allSettled(Array.from({ length: 50 }, () => chargeIntent(ctx, { intentUid })));
  expect(stripe.charges.length).toBe(before + 1);
  expect(await refresh(renewal)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
});

test('a button that is pressed while a saved card is being charged is refused, and the charge goes on', async () => {
  const renewal = await renewalOf('pays');
  const { invoice, token, intentUid } = renewal;
  // Stripe has the confirmation, and has not acted on it yet.
  const confirming = Promise.withResolvers<ServerResponse>();
  stripe.faults.push({ path: '/confirm', after: false, act: confirming.resolve });
  const charging = Promise.allSettled([chargeIntent(ctx, { intentUid })]);
  const res = await confirming.promise;
  const body = { gateway_uid: gatewayUid };
  const byRest = await app.rest(`/invoices/${invoice}/checkout`, { method: 'POST', token, body });
  expect([byRest.status, byRest.text]).toEqual([422, expect.stringContaining('is under way')]);
  const byGraphql = await pluginClient({ baseUrl: app.baseUrl, token }).graphql(
    'mutation ($input: StartPaymentInput!) { it: startPayment(input: $input) { __typename ... on Error { code } } }',
    { input: { invoiceUid: invoice, gatewayUid } },
  );
  expect(byGraphql).toEqual({ it: { __typename: 'WrongStateError', code: 'PAYMENT_IN_PROGRESS' } });
  res.destroy();
  expect(await charging).toMatchObject([{ status: 'rejected' }]);
  await chargeIntent(ctx, { intentUid });
  expect([...stripe.payments.values()].at(-1)).toMatchObject({ status: 'succeeded' });
  expect(await refresh(renewal)).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
});

test('a card that its bank has renewed is seen at the next charge, and stays one', async () => {
  const renewal = await renewalOf('pays');
  stripe.expYear = 2033;
  await chargeIntent(ctx, { intentUid: renewal.intentUid }).finally(() => {
    stripe.expYear = 2030;
  });
  const { body } = await app.rest('/payment_methods', { token: renewal.token });
  expect(body).toMatchObject([{ title: 'Visa', info: 'ends in 4242, 12/2033' }]);
  expect(body).toHaveLength(1);
});

test('a declined card leaves the invoice open with the reason; the customer pays at the checkout', async () => {
  const renewal = await renewalOf('declines');
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  expect(await refresh(renewal)).toMatchObject({
    status: 'pending',
    payments: [{ status: 'FAILED', reason: 'Your card was declined.' }],
  });
  stripe.pay(await toStripe(renewal));
  expect(await refresh(renewal)).toMatchObject({ status: 'paid' });
});

test.each<[CardMood, unknown]>([
  ['declines', expect.any(String)],
  ['stolen', null],
])('a card that %s is tried again or not, as Stripe says', async (mood, next) => {
  const renewal = await renewalOf(mood);
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  expect(await refresh(renewal)).toMatchObject({
    status: 'pending',
    next_charge_at: next,
    payments: [{ status: 'FAILED', is_automatic: true, charged_at: expect.any(String) }],
  });
});

test('a challenge of the bank asks the customer back: the checkout takes the place of the charge, which is cancelled', async () => {
  const renewal = await renewalOf('challenges');
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  expect(await refresh(renewal)).toMatchObject({ payments: [{ status: 'REQUIRES_ACTION' }] });
  const session = await toStripe(renewal);
  expect([...stripe.payments.values()].at(-1)).toMatchObject({ status: 'canceled' });
  stripe.pay(session);
  expect(await refresh(renewal)).toMatchObject({
    status: 'paid',
    payments: [{ status: 'CANCELLED' }, { status: 'SUCCEEDED' }],
  });
});

test('a bank debit is under way for days: nothing takes its place, and it is paid, refused or cancelled as Stripe says', async () => {
  const customers = [await dueCustomer(), await dueCustomer(), await dueCustomer()] as const;
  const sessions = [await toStripe(customers[0]), await toStripe(customers[1]), await toStripe(customers[2])] as const;
  for (const session of sessions) stripe.debit(session, 'processing');
  await syncAll();
  await ctx.db.execute(sql`UPDATE payment_intent SET charged_at = charged_at - interval '20 days'`);
  await syncAll();
  for (const customer of customers) {
    const body = { gateway_uid: gatewayUid };
    const path = `/invoices/${customer.invoice}/checkout`;
    const again = await app.rest(path, { method: 'POST', token: customer.token, body });
    expect(again.text).toContain('is under way');
    expect(await refresh(customer)).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
  }
  const ends = ['succeeded', 'requires_payment_method', 'canceled'] as const;
  for (const [index, status] of ends.entries()) stripe.debit(sessions[index] ?? '', status);
  await syncAll();
  expect(await refresh(customers[0])).toMatchObject({ status: 'paid', payments: [{ status: 'SUCCEEDED' }] });
  expect(await refresh(customers[1])).toMatchObject({ status: 'pending', payments: [{ status: 'FAILED' }] });
  // Believed when it is said again later: money was on its way.
  expect(await refresh(customers[2])).toMatchObject({ status: 'pending', payments: [{ status: 'PENDING' }] });
  await later('2 hours');
  expect(await refresh(customers[2])).toMatchObject({ status: 'pending', payments: [{ status: 'CANCELLED' }] });
});

test('a charge that a bank takes days for is under way, too', async () => {
  const renewal = await renewalOf('pays');
  await chargeIntent(ctx, { intentUid: renewal.intentUid });
  // The renewal's own payment, as a debit would be.
  const payment = [...stripe.payments.values()].at(-1) ?? {};
  const state = stateOfPaymentIntent({ ...payment, status: 'processing' });
  expect(state).toMatchObject({ status: 'PENDING', isProcessing: true });
  expect(stateOfPaymentIntent({ ...payment, status: 'requires_confirmation' })).toMatchObject({ isProcessing: false });
});

test('subscriptions that Stripe keeps are walked to the end, cancelled, and moved to another price', async () => {
  const price = (id: string, amount: number) => ({
    ...{ id, unit_amount: amount, currency: 'eur', nickname: id, recurring: { interval: 'month', interval_count: 3 } },
  });
  stripe.prices.push(...Array.from({ length: 130 }, (_, index) => price(`price_${index}`, 100 + index)), {
    id: 'by_use',
  });
  // A price by use with an amount for each unit, and three digits after the point.
  stripe.prices.push(
    { ...price('metered', 5), recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' } },
    { ...price('dinars', 5_000), currency: 'kwd' },
  );
  for (let index = 0; index < 250; index++)
    stripe.subscriptions.push({
      ...{ id: `sub_${index}`, status: 'active', start_date: 1_790_000_000, metadata: { intent_uid: '0123456789abc' } },
      items: { data: [{ id: `si_${index}`, current_period_end: 1_800_000_000, price: price('price_1', 101) }] },
    });
  const entry = ctx.hooks.owned('register_payment_gateway').find(({ value }) => value.type === 'stripe');
  const service = entry?.value.serviceFactory({
    uid: 'x',
    type: 'stripe',
    name: 'x',
    data: { secret_key: STRIPE_KEY },
  });
  const found: string[] = [];
  for (let cursor: string | null = null, isMore = true; isMore;) {
    const page: RemoteSubscriptionPage | undefined = await service?.getRemoteSubscriptions?.(cursor);
    found.push(...(page?.data ?? []).map(({ id }) => id));
    [cursor, isMore] = [page?.next_cursor ?? null, page?.has_more === true];
  }
  expect(found).toEqual(stripe.subscriptions.map(({ id }) => id));
  expect(await service?.getRemotePlans?.()).toHaveLength(130);
  expect(await service?.getRemoteSubscription?.('sub_7')).toEqual({
    ...{ id: 'sub_7', intentUid: '0123456789abc', status: 'active', isActive: true, planId: 'price_1' },
    ...{ isEnded: false, periodPayment: null },
    currentPeriodEndsAt: new Date(1_800_000_000_000),
    startedAt: new Date(1_790_000_000_000),
  });
  expect(await service?.getRemoteSubscription?.('sub_none')).toBeUndefined();
  expect(await service?.updateRemoteSubscriptionPlan?.('sub_7', 'price_9')).toMatchObject({ planId: 'price_9' });
  expect(await service?.cancelRemoteSubscription?.('sub_7')).toMatchObject({ status: 'canceled', isActive: false });
});
