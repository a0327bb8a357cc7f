/** One subscription of PayPal: begun at the checkout, read with its plan and its payments, and what it means for the payment that began it. */
import { GatewayError, type PaymentIntent, type VendorIntent } from '../../../src/plugin-api/index.ts';
import { idOf, stateOfGone } from './order-state.ts';
import { listIn, textIn, type Json } from './json.ts';
import { PayPalError, type PayPalApi } from './paypal-api.ts';
import { paymentsOf, type Payment } from './remote-periods.ts';

export const SUBSCRIPTIONS = '/v1/billing/subscriptions';
const DAY_MS = 24 * 60 * 60_000;
const OPEN: readonly PaymentIntent['status'][] = ['PENDING', 'REQUIRES_ACTION'];
/** PayPal cancels no other ones. */
const CANCELLABLE = new Set(['ACTIVE', 'SUSPENDED']);

export const pathOf = (id: string) => `${SUBSCRIPTIONS}/${encodeURIComponent(id)}`;

export interface Urls {
  readonly return_url: string;
  readonly cancel_url: string;
}

/** Made once for all attempts; no money moves before the payer has agreed at PayPal. */
export function createSubscription(api: PayPalApi, { uid, remotePlanId }: PaymentIntent, urls: Urls): Promise<Json> {
  const form = {
    plan_id: remotePlanId,
    custom_id: uid,
    application_context: { user_action: 'SUBSCRIBE_NOW', shipping_preference: 'NO_SHIPPING', ...urls },
  };
  return api.post(SUBSCRIPTIONS, form, `subscribe-${uid}`);
}

/** With its plan. Undefined: PayPal does not know it, or not any more. */
export async function readSubscription(api: PayPalApi, id: string): Promise<Json | undefined> {
  try {
    return await api.get(pathOf(id), { fields: 'plan' });
  } catch (error) {
    if (error instanceof PayPalError && error.status === 404) return undefined;
    throw error;
  }
}

export async function readPayments(api: PayPalApi, subscription: Json): Promise<readonly Payment[]> {
  const began = new Date(textIn(subscription, 'start_time') ?? textIn(subscription, 'create_time') ?? '');
  if (Number.isNaN(began.getTime())) return [];
  const answer = await api.get(`${pathOf(idOf(subscription))}/transactions`, {
    start_time: new Date(began.getTime() - DAY_MS).toISOString(),
    end_time: new Date().toISOString(),
  });
  return paymentsOf(listIn(answer, 'transactions'));
}

/** The state of the payment that began it: paid by its first payment. */
export async function stateOfSubscription(api: PayPalApi, intent: PaymentIntent): Promise<VendorIntent | undefined> {
  const subscription = await readSubscription(api, intent.reference ?? '');
  // PayPal forgets those to which nobody agreed.
  if (!subscription) return OPEN.includes(intent.status) ? stateOfGone(intent) : undefined;
  const id = idOf(subscription);
  const common = { intentUid: textIn(subscription, 'custom_id') ?? null, reference: id };
  const status = textIn(subscription, 'status') ?? '';
  const due = { amountMinor: intent.amountMinor, currencyCode: intent.currencyCode };
  if (status === 'APPROVAL_PENDING') return { ...common, ...due, status: 'PENDING' };
  const [first] = await readPayments(api, subscription);
  if (first) {
    const { amountMinor, currencyCode, isRefunded } = first;
    const refundedMinor = isRefunded ? amountMinor : 0n;
    return { ...common, amountMinor, currencyCode, refundedMinor, status: 'SUCCEEDED', remoteSubscriptionId: id };
  }
  switch (status) {
    case 'APPROVED':
    case 'ACTIVE':
      // The payer has agreed, and PayPal takes the first money within some hours.
      return { ...common, ...due, status: 'PENDING', isProcessing: true };
    case 'SUSPENDED':
      return { ...common, ...due, status: 'FAILED', reason: 'PayPal could not take the first payment.' };
    case 'CANCELLED':
    case 'EXPIRED':
      return { ...common, ...due, status: 'CANCELLED', reason: 'The subscription was cancelled at PayPal.' };
    default:
      throw new GatewayError('unavailable', `PayPal answered the unknown state "${status}" of a subscription.`);
  }
}

/** One that nobody has agreed to cannot be cancelled at PayPal: what it takes nevertheless is found by the host, which cancels it then. */
export async function leaveSubscription(api: PayPalApi, id: string, reason: string): Promise<void> {
  const subscription = await readSubscription(api, id);
  if (subscription && CANCELLABLE.has(textIn(subscription, 'status') ?? ''))
    await api.post(`${pathOf(id)}/cancel`, { reason });
}
