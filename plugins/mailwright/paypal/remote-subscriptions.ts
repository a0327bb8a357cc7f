/** Subscriptions that PayPal keeps: listed page by page, cancelled, moved to another plan. */
import {
  GatewayError,
  type RemotePlan,
  type RemoteSubscription,
  type RemoteSubscriptionGateway,
} from '../../../src/plugin-api/index.ts';
import { toMinor } from './amounts.ts';
import { linkIn, listIn, objectIn, textIn, wholeIn, type Json } from './json.ts';
import type { PayPalApi } from './paypal-api.ts';
import { periodsOf, type Payment } from './remote-periods.ts';
import { pathOf, readPayments, readSubscription, SUBSCRIPTIONS } from './subscriptions.ts';

const PLANS = '/v1/billing/plans';
/** The most that PayPal answers at once. */
const PAGE = 20;
/** A PayPal account has fewer plans that anybody chooses from. */
const PLAN_PAGES_MAX = 250;
const CANCEL_REASON = 'Cancelled by the merchant.';

export function remoteSubscriptions(api: PayPalApi): RemoteSubscriptionGateway {
  const read = (id: string) => api.get(pathOf(id), { fields: 'plan' });
  const whole = async (subscription: Json) => withPayment(subscription, await readPayments(api, subscription));
  return {
    getRemotePlans: () => allPlans(api),
    async getRemoteSubscription(id) {
      const subscription = await readSubscription(api, id);
      return subscription && whole(subscription);
    },
    async getRemoteSubscriptions(cursor) {
      const page = pageOf(cursor);
      const answer = await api.get(SUBSCRIPTIONS, { page, page_size: PAGE });
      // Whether a period is paid stands on the payments, which are read for each one when it is due.
      const data = listIn(answer, 'subscriptions').map((one) => ({ ...subscriptionOf(one), periodPayment: null }));
      const hasMore = hasNext(answer, page, data.length);
      return { data, has_more: hasMore, next_cursor: hasMore ? String(page + 1) : null };
    },
    /** One page: PayPal answers all payments at once. */
    async getRemotePeriods(id) {
      const subscription = await read(id);
      const data = periodsOf(subscription, await readPayments(api, subscription));
      return { data, has_more: false, next_cursor: null };
    },
    async cancelRemoteSubscription(id) {
      await api.post(`${pathOf(id)}/cancel`, { reason: CANCEL_REASON });
      return subscriptionOf(await read(id));
    },
    /** The payer must agree to another price at PayPal: until then the answer has the plan of before. */
    async updateRemoteSubscriptionPlan(id, planId) {
      await api.post(`${pathOf(id)}/revise`, { plan_id: planId });
      return subscriptionOf(await read(id));
    },
    async getRemotePaymentMethod(id) {
      const subscription = await readSubscription(api, id);
      const payer = subscription && textIn(objectIn(subscription, 'subscriber'), 'payer_id');
      return payer === undefined ? undefined : { payer };
    },
  };
}

async function allPlans(api: PayPalApi): Promise<RemotePlan[]> {
  const plans: RemotePlan[] = [];
  for (let page = 1; page <= PLAN_PAGES_MAX; page += 1) {
    const answer = await api.get(PLANS, { page, page_size: PAGE, total_required: true });
    const found = listIn(answer, 'plans');
    plans.push(...found.flatMap(planOf));
    if (!hasNext(answer, page, found.length)) return plans;
  }
  throw new GatewayError('refused', `The PayPal account has more than ${PLAN_PAGES_MAX * PAGE} plans.`);
}

/** PayPal says it by a total, or by a link; if by neither, a page that is not full is the last one. */
function hasNext(answer: Json, page: number, length: number): boolean {
  const total = wholeIn(answer, 'total_pages');
  if (length === 0) return false;
  if (total !== undefined && total > 0) return page < total;
  return linkIn(answer, 'next') !== undefined || length >= PAGE;
}

function pageOf(cursor: string | null): number {
  const page = Number(cursor ?? 1);
  if (!Number.isSafeInteger(page) || page < 1) throw new GatewayError('refused', `"${cursor}" is no page of PayPal.`);
  return page;
}

/** Plans without a fixed price, such as those by quantity, with a trial, in which nothing is paid, and plans that are off are left out. */
function planOf(plan: Json): RemotePlan[] {
  const cycles = listIn(plan, 'billing_cycles');
  const cycle = cycles.find((one) => textIn(one, 'tenure_type') === 'REGULAR') ?? {};
  if (cycles.some((one) => textIn(one, 'tenure_type') === 'TRIAL')) return [];
  const price = objectIn(cycle, 'pricing_scheme', 'fixed_price');
  const frequency = objectIn(cycle, 'frequency');
  const [id, currencyCode] = [textIn(plan, 'id'), textIn(price, 'currency_code') ?? ''];
  const amountMinor = toMinor(textIn(price, 'value') ?? '', currencyCode);
  const unit = textIn(frequency, 'interval_unit')?.toLowerCase();
  if (id === undefined || amountMinor === undefined || !isUnit(unit) || textIn(plan, 'status') !== 'ACTIVE') return [];
  const frequencyAmount = wholeIn(frequency, 'interval_count') ?? 1;
  return [{ id, name: textIn(plan, 'name') ?? id, amountMinor, currencyCode, frequencyAmount, frequencyUnit: unit }];
}

function isUnit(unit: string | undefined): unit is RemotePlan['frequencyUnit'] {
  return unit === 'day' || unit === 'week' || unit === 'month' || unit === 'year';
}

function withPayment(subscription: Json, payments: readonly Payment[]): RemoteSubscription {
  const present = subscriptionOf(subscription);
  const [last] = periodsOf(subscription, payments);
  // One that has ended has no next billing: its last period ends with what was paid.
  return {
    ...present,
    currentPeriodEndsAt: last?.endsAt ?? present.currentPeriodEndsAt,
    periodPayment: last?.payment ?? null,
  };
}

function subscriptionOf(subscription: Json): RemoteSubscription {
  const status = textIn(subscription, 'status') ?? 'unknown';
  const endsAt = new Date(textIn(objectIn(subscription, 'billing_info'), 'next_billing_time') ?? '');
  const startedAt = new Date(textIn(subscription, 'start_time') ?? '');
  return {
    id: textIn(subscription, 'id') ?? '',
    intentUid: textIn(subscription, 'custom_id') ?? null,
    status,
    isActive: status === 'ACTIVE',
    isEnded: status === 'CANCELLED' || status === 'EXPIRED',
    planId: textIn(subscription, 'plan_id') ?? null,
    currentPeriodEndsAt: Number.isNaN(endsAt.getTime()) ? null : endsAt,
    ...(!Number.isNaN(startedAt.getTime()) && { startedAt }),
  };
}
