/** Subscriptions that Stripe keeps, begun and read by the gateway's own code from a double with Stripe's objects. */
import { expect, test } from 'vitest';
import { checkoutRoute } from '../../plugins/mailwright/stripe/checkout-route.ts';
import { stripeGateway } from '../../plugins/mailwright/stripe/stripe-gateway.ts';
import type { FetchAnswer, PaymentIntent, PluginFetch } from '../../src/plugin-api/index.ts';
import { STRIPE_KEY, StripeDouble } from '../support/stripe-double.ts';

const stripe = await new StripeDouble().start();
const recurring = { interval: 'month', interval_count: 1 };
stripe.prices.push({ id: 'price_1', unit_amount: 1990, currency: 'eur', nickname: 'Small', recurring });
const request: PluginFetch = async (url, { timeoutMs: _, body, ...options } = {}): Promise<FetchAnswer> => {
  const address = url.replace('https://api.stripe.com', `http://${stripe.host}`);
  const answer = await fetch(address, { ...options, ...(body !== undefined && { body: String(body) }) });
  const text = await answer.text();
  const headers = Object.fromEntries(answer.headers);
  return { status: answer.status, headers, body: Buffer.from(text), text: () => text, json: () => JSON.parse(text) };
};
const gateway = { ...{ uid: 'g', type: 'stripe', name: 'Stripe' }, data: { secret_key: STRIPE_KEY } };
const service = stripeGateway(request, gateway);

const intentOf = (uid: string, reference: string | null = null): PaymentIntent => ({
  ...{ uid, reference, token: 't', status: 'PENDING', amountMinor: 1990n, currencyCode: 'EUR', currencyDigits: 2 },
  ...{ invoiceUid: 'i', remotePlanId: 'price_1', description: 'Small', customer: { uid: 'c', name: 'C' } },
});

test('a linked plan is paid at a checkout that begins a subscription, which carries the intent', async () => {
  const saved: string[] = [];
  const { handle } = checkoutRoute(request, {
    openCheckout: async () => ({
      ...{ intent: intentOf('uid1'), gateway, returnUrl: '/back', absoluteReturnUrl: 'http://x/back' },
    }),
    saveReference: async (_uid, reference) => saved.push(reference) > 0,
  });
  await handle({ params: { token: 't' }, query: {}, headers: {}, body: undefined } as never);
  const [session = ''] = saved;
  expect(stripe.sessions.get(session)).toMatchObject({ mode: 'subscription', amount_total: 1990 });
  stripe.pay(session);
  const id = String(stripe.sessions.get(session)?.['subscription']);
  expect(await service.getIntentState(intentOf('uid1', session))).toMatchObject({
    ...{ status: 'SUCCEEDED', intentUid: 'uid1', amountMinor: 1990n, currencyCode: 'EUR', remoteSubscriptionId: id },
  });
  const paid = { amountMinor: 1990n, currencyCode: 'EUR' };
  expect(await service.getRemoteSubscription?.(id)).toMatchObject({
    intentUid: 'uid1',
    periodPayment: paid,
    isEnded: false,
  });
  stripe.renew(id, false);
  expect(await service.getRemoteSubscription?.(id)).toMatchObject({
    status: 'past_due',
    periodPayment: null,
    isEnded: false,
  });
  stripe.renew(id, true);
  const page = await service.getRemoteSubscriptions?.(null);
  expect(page?.data).toMatchObject([{ id, periodPayment: paid }]);
  const day = 86_400_000;
  const end = page?.data[0]?.currentPeriodEndsAt?.getTime() ?? 0;
  // Changes within a period have invoices, too, and are no periods.
  stripe.invoices.unshift({ ...stripe.invoices[0], id: 'in_x', billing_reason: 'subscription_update' });
  expect(await service.getRemotePeriods?.(id, null)).toEqual({
    data: [
      { endsAt: new Date(end), payment: paid },
      { endsAt: new Date(end - 30 * day), payment: null },
      { endsAt: new Date(end - 60 * day), payment: paid },
    ],
    ...{ has_more: false, next_cursor: null },
  });
  expect(await service.cancelRemoteSubscription?.(id)).toMatchObject({ isEnded: true });
});

test('a saved card begins one once for all attempts; a declined card begins none', async () => {
  stripe.cards.set('pm_good', { mood: 'pays', customer: 'cus_1' });
  stripe.cards.set('pm_bad', { mood: 'declines', customer: 'cus_1' });
  const before = stripe.subscriptions.length;
  const good = { customer: 'cus_1', payment_method: 'pm_good' };
  const made = await service.createSubscription?.(intentOf('uid2'), good);
  expect(await service.createSubscription?.(intentOf('uid2'), good)).toEqual(made);
  expect(stripe.subscriptions).toHaveLength(before + 1);
  expect(made).toMatchObject({ intentUid: 'uid2', periodPayment: { amountMinor: 1990n, currencyCode: 'EUR' } });
  const state = await service.getIntentState(intentOf('uid2', made?.id ?? ''));
  expect(state).toMatchObject({ status: 'SUCCEEDED', intentUid: 'uid2', reference: made?.id, amountMinor: 1990n });
  const bad = { customer: 'cus_1', payment_method: 'pm_bad' };
  await expect(service.createSubscription?.(intentOf('uid3'), bad)).rejects.toMatchObject({ kind: 'refused' });
  expect(stripe.subscriptions).toHaveLength(before + 1);
  await service.cancelIntent?.(intentOf('uid2', made?.id ?? ''));
  expect(await service.getRemoteSubscription?.(made?.id ?? '')).toMatchObject({ isEnded: true });
});
