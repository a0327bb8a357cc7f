/** Subscriptions that Stripe keeps: listed page by page, cancelled, moved to another price. */
import type {
  PaymentIntent,
  PaymentMethodData,
  RemotePlan,
  RemoteSubscription,
  RemoteSubscriptionGateway,
} from '../../../src/plugin-api/index.ts';
import { CURRENCIES, toIsoCurrency } from './amounts.ts';
import { listIn, objectIn, pageAfter, StripeError, textIn, wholeIn, type Json, type StripeApi } from './stripe-api.ts';
import { periodsOf } from './remote-periods.ts';
import { wordsOfMethod } from './vendor-state.ts';

/** A Stripe account has fewer prices that anybody chooses from. */
const PLANS_MAX = 5_000;
const ACTIVE = new Set(['active', 'trialing', 'past_due']);
/** Stripe takes no money by these any more; `unpaid`, `paused` and `incomplete` may go on. */
const ENDED = new Set(['canceled', 'incomplete_expired']);
/** Whether the present period is paid stands on its invoice. */
const WITH_INVOICE = { 'expand[0]': 'latest_invoice' };

export function remoteSubscriptions(api: StripeApi): RemoteSubscriptionGateway {
  const read = (id: string) => api.get(`/subscriptions/${encodeURIComponent(id)}`, WITH_INVOICE);
  return {
    getRemotePlans: () => allPlans(api),
    async getRemoteSubscription(id) {
      return presentOrGone(async () => subscriptionOf(await read(id)));
    },
    async getRemoteSubscriptions(cursor) {
      const page = await api.get('/subscriptions', {
        ...{ status: 'all', 'expand[0]': 'data.latest_invoice' },
        ...pageAfter(cursor),
      });
      const data = listIn(page, 'data').map(subscriptionOf);
      const hasMore = page['has_more'] === true;
      return { data, has_more: hasMore, next_cursor: hasMore ? (data.at(-1)?.id ?? null) : null };
    },
    getRemotePeriods: (id, cursor) => periodsOf(api, id, cursor),
    cancelRemoteSubscription: async (id) =>
      subscriptionOf(await api.delete(`/subscriptions/${encodeURIComponent(id)}`)),
    async updateRemoteSubscriptionPlan(id, planId) {
      const [item] = itemsOf(await read(id));
      const items = [{ id: item && textIn(item, 'id'), price: planId }];
      // The period that is paid stays as it is; the next one costs the other price.
      const form = { items, proration_behavior: 'none', expand: { 0: 'latest_invoice' } };
      return subscriptionOf(await api.post(`/subscriptions/${encodeURIComponent(id)}`, form));
    },
    async getRemotePaymentMethod(id) {
      return presentOrGone(async () => {
        const expanded = await api.get(`/subscriptions/${encodeURIComponent(id)}`, {
          'expand[0]': 'default_payment_method',
        });
        return methodOf(expanded);
      });
    },
  };
}

async function allPlans(api: StripeApi): Promise<RemotePlan[]> {
  const plans: RemotePlan[] = [];
  let cursor: string | null = null;
  do {
    const page: Json = await api.get('/prices', {
      ...{ active: true, type: 'recurring', 'expand[0]': 'data.product' },
      ...pageAfter(cursor),
    });
    const prices = listIn(page, 'data');
    plans.push(...prices.flatMap(planOf));
    cursor = page['has_more'] === true ? (textIn(prices.at(-1) ?? {}, 'id') ?? null) : null;
  } while (cursor !== null && plans.length < PLANS_MAX);
  return plans;
}

/** Prices by use or without a fixed amount are left out, and those in a currency whose digits we are not sure of. */
function planOf(price: Json): RemotePlan[] {
  const [id, amountMinor, currency] = [textIn(price, 'id'), wholeIn(price, 'unit_amount'), textIn(price, 'currency')];
  const recurring = objectIn(price, 'recurring');
  const unit = recurring && textIn(recurring, 'interval');
  if (id === undefined || amountMinor === undefined || currency === undefined || !isUnit(unit)) return [];
  const isByUse = recurring !== undefined && textIn(recurring, 'usage_type') === 'metered';
  if (isByUse || !CURRENCIES.includes(toIsoCurrency(currency))) return [];
  const product = objectIn(price, 'product');
  const name = textIn(price, 'nickname') ?? (product && textIn(product, 'name')) ?? id;
  const frequencyAmount = Number((recurring && wholeIn(recurring, 'interval_count')) ?? 1n);
  return [{ id, name, amountMinor, currencyCode: toIsoCurrency(currency), frequencyAmount, frequencyUnit: unit }];
}

function isUnit(unit: string | undefined): unit is RemotePlan['frequencyUnit'] {
  return unit === 'day' || unit === 'week' || unit === 'month' || unit === 'year';
}

function subscriptionOf(subscription: Json): RemoteSubscription {
  const [item] = itemsOf(subscription);
  const price = item && objectIn(item, 'price');
  const endsAt = item && wholeIn(item, 'current_period_end');
  const startedAt = wholeIn(subscription, 'start_date');
  const status = textIn(subscription, 'status') ?? 'unknown';
  return {
    id: textIn(subscription, 'id') ?? '',
    intentUid: textIn(objectIn(subscription, 'metadata') ?? {}, 'intent_uid') ?? null,
    status,
    isActive: ACTIVE.has(status),
    isEnded: ENDED.has(status),
    planId: (price && textIn(price, 'id')) ?? null,
    // The period's end stands on the items since 2025.
    currentPeriodEndsAt: endsAt === undefined ? null : new Date(Number(endsAt) * 1_000),
    ...(startedAt !== undefined && { startedAt: new Date(Number(startedAt) * 1_000) }),
    ...periodPaymentOf(subscription),
  };
}

/** Nothing is said when the invoice was not expanded, as in the answer to a cancellation. */
function periodPaymentOf(subscription: Json): Pick<RemoteSubscription, 'periodPayment'> {
  const invoice = objectIn(subscription, 'latest_invoice');
  const [amountMinor, currency] = invoice ? [wholeIn(invoice, 'amount_paid'), textIn(invoice, 'currency')] : [];
  if (!invoice || amountMinor === undefined || currency === undefined) return { periodPayment: null };
  const isPaid = textIn(invoice, 'status') === 'paid';
  return { periodPayment: isPaid ? { amountMinor, currencyCode: toIsoCurrency(currency) } : null };
}

/** Takes the money of the first period at once; a card that is declined, or challenged, begins nothing. */
export async function subscribe(
  api: StripeApi,
  intent: PaymentIntent,
  method: PaymentMethodData,
): Promise<RemoteSubscription> {
  const form = {
    customer: method['customer'],
    items: [{ price: intent.remotePlanId ?? undefined }],
    default_payment_method: method['payment_method'],
    payment_behavior: 'error_if_incomplete',
    off_session: true,
    metadata: { intent_uid: intent.uid, invoice_uid: intent.invoiceUid },
    expand: { 0: 'latest_invoice' },
  };
  return subscriptionOf(await api.post('/subscriptions', form, `subscribe-${intent.uid}`));
}

function itemsOf(subscription: Json): readonly Json[] {
  return listIn(objectIn(subscription, 'items') ?? {}, 'data');
}

function methodOf(subscription: Json): PaymentMethodData | undefined {
  const method = objectIn(subscription, 'default_payment_method');
  const [id, customer] = [method && textIn(method, 'id'), textIn(subscription, 'customer')];
  if (!method || id === undefined || customer === undefined) return undefined;
  return { customer, payment_method: id, ...wordsOfMethod(method) };
}

async function presentOrGone<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StripeError && error.code === 'resource_missing') return undefined;
    throw error;
  }
}
