/** How REST shows subscriptions: ids of customers and plans as texts, as its clients expect them. */
import type {
  RestSubscriptionChangeFragment,
  RestSubscriptionFragment,
  RestSubscriptionRowFragment,
} from '../../generated/operations.ts';
import type { DataOf } from '../operations.ts';
import { restTime } from '../timestamps.ts';

export function presentSubscriptionRow(subscription: RestSubscriptionRowFragment) {
  return {
    id: Number(subscription.id),
    uid: subscription.uid,
    customer_id: subscription.customerId,
    customer_uid: subscription.customerUid,
    plan_id: subscription.planId,
    plan_uid: subscription.plan.uid,
    plan_name: subscription.plan.name,
    status: subscription.status,
    current_period_ends_at: restTime(subscription.currentPeriodEndsAt),
    ends_at: restTime(subscription.endsAt),
    created_at: restTime(subscription.createdAt),
    updated_at: restTime(subscription.updatedAt),
  };
}

export function presentSubscription(subscription: RestSubscriptionFragment) {
  const { frequencyAmount } = subscription;
  return {
    ...presentSubscriptionRow(subscription),
    options: subscription.options,
    disable_billing: subscription.disableBilling,
    frequency_amount: frequencyAmount === null ? null : String(frequencyAmount),
    frequency_unit: subscription.frequencyUnit,
    current_period_started_at: restTime(subscription.currentPeriodStartedAt),
    grace_ends_at: restTime(subscription.graceEndsAt),
    pending_invoice_uid: subscription.pendingInvoice?.uid ?? null,
  };
}

export function presentWithHistory(subscription: DataOf<'PlanSubscription'>['subscription']) {
  return {
    ...presentSubscription(subscription),
    renewal_history: subscription.history.nodes.toReversed().map((entry) => ({
      event: entry.event,
      at: restTime(entry.at),
      plan_uid: entry.planUid,
      amount: entry.amount?.amount ?? null,
      currency_code: entry.amount?.currencyCode ?? null,
      invoice_uid: entry.invoiceUid,
      note: entry.note,
    })),
  };
}

/** The subscription, and the invoice to pay first. */
export function presentChange({ subscription, invoice, checkoutUrl }: RestSubscriptionChangeFragment) {
  return {
    subscription_uid: subscription.uid,
    subscription: presentSubscription(subscription),
    invoice_uid: invoice?.uid ?? null,
    amount_due: invoice?.total.amount ?? null,
    currency_code: invoice?.total.currencyCode ?? null,
    checkout_url: checkoutUrl,
  };
}
