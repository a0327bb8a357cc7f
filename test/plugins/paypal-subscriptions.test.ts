/** What PayPal keeps: subscriptions and plans by pages, and orders that it does not find; by the gateway's own service, at a double. */
import { expect, test } from 'vitest';
import { checkoutRoutes } from '../../plugins/mailwright/paypal/checkout-routes.ts';
import { payPalGateway } from '../../plugins/mailwright/paypal/paypal-gateway.ts';
import type { FetchAnswer, PaymentIntent, PluginServices } from '../../src/plugin-api/index.ts';
import { PAYER } from '../support/paypal-answers.ts';
import { PAYPAL_ID, PAYPAL_SECRET, PayPalVendor } from '../support/paypal-vendor.ts';

const paypal = await new PayPalVendor().start();
const services: Pick<PluginServices, 'fetch' | 'log'> = {
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  async fetch(url, { timeoutMs: _, body, ...options } = {}): Promise<FetchAnswer> {
    const address = url.replace('https://api-m.sandbox.paypal.com', `http://${paypal.host}`);
    const answer = await fetch(address, { ...options, ...(body !== undefined && { body: String(body) }) });
    const text = await answer.text();
    const headers = Object.fromEntries(answer.headers);
    return { status: answer.status, headers, body: Buffer.from(text), text: () => text, json: () => JSON.parse(text) };
  },
};
const gateway = {
  ...{ uid: 'g', type: 'paypal', name: 'PayPal' },
  data: { mode: 'sandbox', client_id: PAYPAL_ID, client_secret: PAYPAL_SECRET, save_accounts: false },
};
const service = payPalGateway(services, gateway);

function addSubscriptions(count: number): void {
  paypal.subscriptions.length = 0;
  for (let index = 1; index <= count; index += 1)
    paypal.subscriptions.push({
      ...{ id: `I-${index}`, plan_id: 'P-1', custom_id: `uid${index}`, status: index === 3 ? 'SUSPENDED' : 'ACTIVE' },
      ...{ start_time: '2026-11-24T10:00:00Z', subscriber: { payer_id: PAYER } },
      billing_info: {
        ...{ next_billing_time: '2026-12-24T10:00:00Z', failed_payments_count: 0 },
        outstanding_balance: { currency_code: 'EUR', value: '0.0' },
      },
    });
}

async function walk(): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (;;) {
    const page: Awaited<ReturnType<NonNullable<typeof service.getRemoteSubscriptions>>> | undefined =
      await service.getRemoteSubscriptions?.(cursor);
    if (!page) throw new Error('There is no list.');
    ids.push(...page.data.map(({ id }) => id));
    if (!page.has_more) return ids;
    cursor = page.next_cursor;
  }
}

test('subscriptions are walked to the end, also when the last page is full', async () => {
  for (const count of [0, 1, 20, 40, 45]) {
    addSubscriptions(count);
    expect(await walk()).toEqual(paypal.subscriptions.map((one) => one['id']));
  }
  await expect(service.getRemoteSubscriptions?.('x')).rejects.toThrow('is no page of PayPal');
});

test('a subscription is read, cancelled, and moved to another plan', async () => {
  addSubscriptions(3);
  expect(await service.getRemoteSubscription?.('I-2')).toEqual({
    ...{ id: 'I-2', intentUid: 'uid2', status: 'ACTIVE', isActive: true, isEnded: false, planId: 'P-1' },
    periodPayment: null,
    currentPeriodEndsAt: new Date('2026-12-24T10:00:00Z'),
    startedAt: new Date('2026-11-24T10:00:00Z'),
  });
  expect(await service.getRemoteSubscription?.('I-3')).toMatchObject({
    ...{ status: 'SUSPENDED', isActive: false, isEnded: false },
  });
  expect(await service.getRemoteSubscription?.('I-9')).toBeUndefined();
  expect(await service.getRemotePaymentMethod?.('I-2')).toEqual({ payer: PAYER });
  expect(await service.updateRemoteSubscriptionPlan?.('I-2', 'P-2')).toMatchObject({ planId: 'P-2' });
  expect(await service.cancelRemoteSubscription?.('I-2')).toMatchObject({ status: 'CANCELLED', isActive: false });
  await expect(service.cancelRemoteSubscription?.('I-2')).rejects.toThrow('Invalid subscription status');
});

test('all plans with a fixed price are listed, but those that begin with a trial', async () => {
  for (let index = 1; index <= 41; index += 1)
    paypal.plans.push({
      ...{ id: `P-${index}`, name: `Plan ${index}`, status: index === 41 ? 'INACTIVE' : 'ACTIVE' },
      billing_cycles: [
        ...(index === 39 ? [{ tenure_type: 'TRIAL', frequency: { interval_unit: 'WEEK', interval_count: 1 } }] : []),
        {
          ...{ tenure_type: 'REGULAR', sequence: 2, frequency: { interval_unit: 'MONTH', interval_count: 3 } },
          pricing_scheme: index === 40 ? {} : { fixed_price: { currency_code: 'EUR', value: '29.5' } },
        },
      ],
    });
  const plans = await service.getRemotePlans?.();
  expect(plans).toHaveLength(38);
  expect(plans?.[37]).toEqual({
    ...{ id: 'P-38', name: 'Plan 38', amountMinor: 2950n, currencyCode: 'EUR' },
    ...{ frequencyAmount: 3, frequencyUnit: 'month' },
  });
});

/** A subscription that the payer has agreed to, so many months ago. */
async function begun(months: number, { isPaid = true } = {}) {
  paypal.plans.length = 0;
  const price = { fixed_price: { currency_code: 'EUR', value: '10.00' } };
  const frequency = { interval_unit: 'MONTH', interval_count: 1 };
  const cycle = { tenure_type: 'REGULAR', sequence: 1, frequency, pricing_scheme: price };
  paypal.plans.push({ id: 'P-9', name: 'Small', status: 'ACTIVE', billing_cycles: [cycle] });
  // Counted from five days ago: the fifth day of that month is over.
  const now = new Date(Date.now() - 5 * 86_400_000);
  const at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 5, 10));
  paypal.subscriptions.length = 0;
  paypal.forgetKeys();
  // The same form makes no second one.
  const id = await beginAtPayPal();
  expect(await beginAtPayPal()).toBe(id);
  paypal.kept.approve(id, at, isPaid);
  return { id, at };
}

async function beginAtPayPal(): Promise<string> {
  const saved: string[] = [];
  const checkout = { intent: keptIntent(null), gateway, returnUrl: '/back', absoluteReturnUrl: 'http://x/back' };
  const [route] = checkoutRoutes({
    ...services,
    payments: { openCheckout: async () => checkout, saveReference: async (_, reference) => saved.push(reference) > 0 },
  });
  const answer = await route?.handle({ params: { token: 't' }, query: {}, headers: {}, body: undefined } as never);
  expect(answer).toMatchObject({ redirectTo: expect.stringContaining('/webapps/billing/subscriptions?ba_token=') });
  return saved[0] ?? '';
}

const keptIntent = (reference: string | null): PaymentIntent => ({
  ...{ uid: 'kept', token: 't', status: 'PENDING', amountMinor: 1_000n, currencyCode: 'EUR', currencyDigits: 2 },
  ...{ reference, invoiceUid: 'i', remotePlanId: 'P-9', description: 'Small', customer: { uid: 'c', name: 'C' } },
});

const TEN = { amountMinor: 1_000n, currencyCode: 'EUR' };

test('a linked plan is paid by a subscription: begun once for all attempts, pending until PayPal has the first money', async () => {
  const { id, at } = await begun(0, { isPaid: false });
  const intent = keptIntent(id);
  expect(paypal.kept.list).toHaveLength(1);
  expect(await service.getIntentState(intent)).toMatchObject({ status: 'PENDING', isProcessing: true });
  paypal.kept.pay(id, at);
  expect(await service.getIntentState(intent)).toMatchObject({
    ...{ status: 'SUCCEEDED', intentUid: 'kept', reference: id, remoteSubscriptionId: id, refundedMinor: 0n, ...TEN },
  });
  expect(await service.getRemoteSubscription?.(id)).toMatchObject({ intentUid: 'kept', periodPayment: TEN });
});

test('the periods: unpaid ones, later payments of them, and two that are taken together', async () => {
  const { id } = await begun(5);
  const payments = async () => (await service.getRemotePeriods?.(id, null))?.data.map(({ payment }) => payment);
  paypal.kept.renew(id, false);
  paypal.kept.renew(id);
  paypal.kept.renew(id, false);
  expect(await payments()).toEqual([null, TEN, null, TEN]);
  expect(await service.getRemoteSubscription?.(id)).toMatchObject({ periodPayment: null, isEnded: false });
  paypal.kept.renew(id, false);
  const end = (await service.getRemoteSubscription?.(id))?.currentPeriodEndsAt ?? new Date(0);
  const day = (count: number) => new Date(end.getTime() - count * 86_400_000);
  // This period and the one before at once, as PayPal does with what is outstanding; then the oldest, by hand.
  paypal.kept.pay(id, day(25), '20.00');
  expect(await payments()).toEqual([TEN, TEN, TEN, null, TEN]);
  paypal.kept.pay(id, day(20));
  expect(await payments()).toEqual([TEN, TEN, TEN, TEN, TEN]);
  paypal.kept.pay(id, day(19), '10.00', 'DECLINED');
  expect(await payments()).toHaveLength(5);
  // What was taken beyond that belongs to no period.
  expect(await service.cancelRemoteSubscription?.(id)).toMatchObject({ isEnded: true });
  expect(await payments()).toEqual([TEN, TEN, TEN, TEN, TEN]);
});

test('money that went back pays a period, and is said to have gone back; it takes no period from money that stayed', async () => {
  const { id } = await begun(3);
  const payments = async () => (await service.getRemotePeriods?.(id, null))?.data.map(({ payment }) => payment);
  paypal.kept.renew(id, false);
  paypal.kept.renew(id);
  const end = (await service.getRemoteSubscription?.(id))?.currentPeriodEndsAt ?? new Date(0);
  const day = (count: number) => new Date(end.getTime() - count * 86_400_000);
  paypal.kept.pay(id, day(20), '10.00', 'REFUNDED');
  expect(await payments()).toEqual([TEN, { ...TEN, refundedMinor: 1_000n }, TEN]);
  paypal.kept.pay(id, day(19));
  expect(await payments()).toEqual([TEN, TEN, TEN]);
});

test('a payment at an earlier, higher price is one payment: no skipped period is paid by half of it', async () => {
  const { id } = await begun(4);
  const payments = async () => (await service.getRemotePeriods?.(id, null))?.data.map(({ payment }) => payment);
  paypal.kept.renew(id, false);
  paypal.kept.renew(id);
  const price = { fixed_price: { currency_code: 'EUR', value: '5.00' } };
  const frequency = { interval_unit: 'MONTH', interval_count: 1 };
  const cycle = { tenure_type: 'REGULAR', sequence: 1, frequency, pricing_scheme: price };
  paypal.plans.push({ id: 'P-10', name: 'Half', status: 'ACTIVE', billing_cycles: [cycle] });
  await service.updateRemoteSubscriptionPlan?.(id, 'P-10');
  paypal.kept.renew(id);
  expect(await payments()).toEqual([{ ...TEN, amountMinor: 500n }, TEN, null, TEN]);
});

test('what became of a payment that began one: agreed to, suspended, cancelled, forgotten, refunded', async () => {
  const { id, at } = await begun(1, { isPaid: false });
  const kept = paypal.kept.list.find((one) => one['id'] === id) ?? {};
  const stateWith = async (status: string) => {
    kept['status'] = status;
    return (await service.getIntentState(keptIntent(id)))?.status;
  };
  expect(await stateWith('APPROVAL_PENDING')).toBe('PENDING');
  await service.cancelIntent?.(keptIntent(id));
  expect(kept['status']).toBe('APPROVAL_PENDING');
  expect(await stateWith('APPROVED')).toBe('PENDING');
  expect(await stateWith('SUSPENDED')).toBe('FAILED');
  expect(await stateWith('EXPIRED')).toBe('CANCELLED');
  await expect(stateWith('STRANGE')).rejects.toMatchObject({ kind: 'unavailable' });
  kept['status'] = 'ACTIVE';
  await service.cancelIntent?.(keptIntent(id));
  expect(kept['status']).toBe('CANCELLED');
  paypal.kept.pay(id, at, '10.00', 'REFUNDED');
  expect(await service.getIntentState(keptIntent(id))).toMatchObject({ status: 'SUCCEEDED', refundedMinor: 1_000n });
  expect(await service.getIntentState(keptIntent('I-NONE'))).toMatchObject({ status: 'CANCELLED' });
  expect(await service.getIntentState({ ...keptIntent('I-NONE'), status: 'SUCCEEDED' })).toBeUndefined();
  expect(await service.getIntentState(keptIntent(null))).toBeUndefined();
});

test('a subscription is not begun without the payer', async () => {
  const intent: PaymentIntent = {
    ...{ uid: 'u', token: 't', status: 'PENDING', amountMinor: 100n, currencyCode: 'EUR', currencyDigits: 2 },
    ...{ reference: null, invoiceUid: 'i', remotePlanId: 'P-1', description: 'x', customer: { uid: 'c', name: 'c' } },
  };
  await expect(service.createSubscription?.(intent, { vault_id: 'v' })).rejects.toThrow('only on its own page');
});

test('a saved account is removed at PayPal, once or twice', async () => {
  paypal.vault.set('v1', 'pays');
  await service.removeMethod?.({ vault_id: 'v1' });
  await service.removeMethod?.({ vault_id: 'v1' });
  expect(paypal.vault.size).toBe(0);
});

test('a charge whose order PayPal does not find has not failed: nobody knows', async () => {
  const intent = {
    ...{
      uid: 'u',
      token: 't',
      status: 'PENDING' as const,
      amountMinor: 1_000n,
      currencyCode: 'EUR',
      currencyDigits: 2,
    },
    ...{
      reference: 'GONE',
      remotePlanId: null,
      invoiceUid: 'i',
      description: 'Pro',
      customer: { uid: 'c', name: 'Ann' },
    },
  };
  await expect(service.autoCharge?.(intent, { vault_id: 'v' })).rejects.toMatchObject({ kind: 'unavailable' });
  // Reading it is one answer, and the host waits for another.
  expect(await service.getIntentState(intent)).toMatchObject({ status: 'CANCELLED' });
});
