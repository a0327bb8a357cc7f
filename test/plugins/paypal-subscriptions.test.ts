/** What PayPal keeps: subscriptions and plans by pages, and orders that it does not find; by the gateway's own service, at a double. */
import { expect, test } from 'vitest';
import { payPalGateway } from '../../plugins/mailwright/paypal/paypal-gateway.ts';
import type { FetchAnswer, PaymentIntent, PluginServices } from '../../src/plugin-api/index.ts';
import { PAYER, PAYPAL_ID, PAYPAL_SECRET, PayPalVendor } from '../support/paypal-vendor.ts';

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
const service = payPalGateway(services, {
  ...{ uid: 'g', type: 'paypal', name: 'PayPal' },
  data: { mode: 'sandbox', client_id: PAYPAL_ID, client_secret: PAYPAL_SECRET, save_accounts: false },
});

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
    ...{ id: 'I-2', intentUid: 'uid2', status: 'ACTIVE', isActive: true, planId: 'P-1' },
    currentPeriodEndsAt: new Date('2026-12-24T10:00:00Z'),
    startedAt: new Date('2026-11-24T10:00:00Z'),
  });
  expect(await service.getRemoteSubscription?.('I-3')).toMatchObject({ status: 'SUSPENDED', isActive: false });
  expect(await service.getRemoteSubscription?.('I-9')).toBeUndefined();
  expect(await service.getRemotePaymentMethod?.('I-2')).toEqual({ payer: PAYER });
  expect(await service.updateRemoteSubscriptionPlan?.('I-2', 'P-2')).toMatchObject({ planId: 'P-2' });
  expect(await service.cancelRemoteSubscription?.('I-2')).toMatchObject({ status: 'CANCELLED', isActive: false });
  await expect(service.cancelRemoteSubscription?.('I-2')).rejects.toThrow('Invalid subscription status');
});

test('all plans with a fixed price are listed, with the price after the trial', async () => {
  for (let index = 1; index <= 41; index += 1)
    paypal.plans.push({
      ...{ id: `P-${index}`, name: `Plan ${index}`, status: index === 41 ? 'INACTIVE' : 'ACTIVE' },
      billing_cycles: [
        { tenure_type: 'TRIAL', sequence: 1, frequency: { interval_unit: 'WEEK', interval_count: 1 } },
        {
          ...{ tenure_type: 'REGULAR', sequence: 2, frequency: { interval_unit: 'MONTH', interval_count: 3 } },
          pricing_scheme: index === 40 ? {} : { fixed_price: { currency_code: 'EUR', value: '29.5' } },
        },
      ],
    });
  const plans = await service.getRemotePlans?.();
  expect(plans).toHaveLength(39);
  expect(plans?.[38]).toEqual({
    ...{ id: 'P-39', name: 'Plan 39', amountMinor: 2950n, currencyCode: 'EUR' },
    ...{ frequencyAmount: 3, frequencyUnit: 'month' },
  });
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
