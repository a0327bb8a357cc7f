/** What Stripe's objects mean for the host: a Checkout Session (`cs_…`) or a PaymentIntent (`pi_…`). */
import { GatewayError, type PaymentMethodData, type VendorIntent } from '../../../src/plugin-api/index.ts';
import { toIsoCurrency } from './amounts.ts';
import { objectIn, textIn, wholeIn, type Json } from './stripe-api.ts';

type Status = VendorIntent['status'];

/** Declines (docs.stripe.com/declines/codes) after which the same card is refused every time. */
const PERMANENT_DECLINES = new Set([
  ...['stolen_card', 'lost_card', 'pickup_card', 'restricted_card', 'fraudulent', 'merchant_blacklist'],
  ...[
    'expired_card',
    'incorrect_number',
    'invalid_number',
    'invalid_account',
    'invalid_expiry_month',
    'invalid_expiry_year',
  ],
  ...['card_not_supported', 'currency_not_supported', 'stop_payment_order', 'revocation_of_authorization'],
  ...['revocation_of_all_authorizations'],
]);

/** Expanded: `payment_intent.payment_method`, `payment_intent.latest_charge`. */
export function stateOfSession(session: Json): VendorIntent {
  const payment = objectIn(session, 'payment_intent');
  const status = statusOfSession(session, payment);
  // The payer is through with the checkout: a debit of a bank account takes days, and may be refused in the end.
  const isProcessing = status === 'PENDING' && textIn(session, 'status') === 'complete';
  const method = status === 'SUCCEEDED' && payment ? savedMethodOf(payment) : undefined;
  const subscription = textIn(session, 'subscription');
  return {
    ...amountOf(session, 'amount_total'),
    reference: idOf(session),
    intentUid: textIn(session, 'client_reference_id') ?? null,
    ...{ status, isProcessing },
    refundedMinor: payment ? refundOf(payment) : 0n,
    reason: payment && status === 'FAILED' ? reasonOf(payment) : null,
    ...(method && { savedMethod: method }),
    ...(subscription !== undefined && { remoteSubscriptionId: subscription }),
  };
}

/** A subscription that was begun without the checkout. Expanded: `latest_invoice`. Its first invoice is paid, or it is not begun. */
export function stateOfSubscription(subscription: Json): VendorIntent {
  const invoice = objectIn(subscription, 'latest_invoice') ?? {};
  const status = statusOfSubscription(subscription, invoice);
  return {
    ...amountOf(invoice, status === 'SUCCEEDED' ? 'amount_paid' : 'amount_due'),
    reference: idOf(subscription),
    intentUid: textIn(objectIn(subscription, 'metadata') ?? {}, 'intent_uid') ?? null,
    status,
    isProcessing: status === 'PENDING',
    remoteSubscriptionId: idOf(subscription),
  };
}

function statusOfSubscription(subscription: Json, invoice: Json): Status {
  if (textIn(invoice, 'status') === 'paid') return 'SUCCEEDED';
  switch (textIn(subscription, 'status')) {
    case 'incomplete':
      return 'REQUIRES_ACTION';
    case 'incomplete_expired':
    case 'canceled':
      return 'CANCELLED';
    default:
      return 'PENDING';
  }
}

/** Of a charge of a saved card, which may have been renewed since it was saved. Expanded: `latest_charge`, `payment_method`. */
export function stateOfPaymentIntent(payment: Json): VendorIntent {
  const status = statusOfPaymentIntent(payment);
  const method = status === 'SUCCEEDED' ? methodOf(payment) : undefined;
  return {
    // What was really received is compared, not what was asked for.
    ...amountOf(payment, status === 'SUCCEEDED' ? 'amount_received' : 'amount'),
    reference: idOf(payment),
    intentUid: textIn(objectIn(payment, 'metadata') ?? {}, 'intent_uid') ?? null,
    ...{ status, isProcessing: textIn(payment, 'status') === 'processing' },
    refundedMinor: refundOf(payment),
    reason: status === 'FAILED' ? reasonOf(payment) : null,
    isPermanent: status === 'FAILED' && isPermanent(payment),
    ...(method && { savedMethod: method }),
  };
}

/** The bank's own advice comes first; cards that have expired have a code of Stripe and no decline code. */
function isPermanent(payment: Json): boolean {
  const error = objectIn(payment, 'last_payment_error') ?? {};
  if (textIn(error, 'advice_code') === 'do_not_try_again') return true;
  return [textIn(error, 'decline_code'), textIn(error, 'code')].some(
    (code) => code !== undefined && PERMANENT_DECLINES.has(code),
  );
}

function statusOfSession(session: Json, payment: Json | undefined): Status {
  switch (textIn(session, 'status')) {
    case 'expired':
      return 'CANCELLED';
    case 'complete':
      if (textIn(session, 'payment_status') === 'paid') return 'SUCCEEDED';
      return statusOfUnpaid(payment);
    default:
      return 'PENDING';
  }
}

/** Of a session that the payer is through with. */
function statusOfUnpaid(payment: Json | undefined): Status {
  switch (payment && textIn(payment, 'status')) {
    case 'requires_payment_method':
      return 'FAILED';
    case 'canceled':
      return 'CANCELLED';
    default:
      return 'PENDING';
  }
}

function statusOfPaymentIntent(payment: Json): Status {
  const error = objectIn(payment, 'last_payment_error');
  switch (textIn(payment, 'status')) {
    case 'succeeded':
      return 'SUCCEEDED';
    case 'canceled':
      return 'CANCELLED';
    case 'requires_action':
      return 'REQUIRES_ACTION';
    case 'requires_payment_method':
      if (!error) return 'PENDING';
      return textIn(error, 'code') === 'authentication_required' ? 'REQUIRES_ACTION' : 'FAILED';
    default:
      return 'PENDING';
  }
}

function amountOf(object: Json, name: string): { amountMinor: bigint; currencyCode: string } {
  const [amountMinor, currency] = [wholeIn(object, name), textIn(object, 'currency')];
  if (amountMinor === undefined || currency === undefined)
    throw new GatewayError('unavailable', `Stripe's answer about ${idOf(object)} has no amount.`);
  return { amountMinor, currencyCode: toIsoCurrency(currency) };
}

function idOf(object: Json): string {
  const id = textIn(object, 'id');
  if (id === undefined) throw new GatewayError('unavailable', "Stripe's answer has no id.");
  return id;
}

function refundOf(payment: Json): bigint {
  const charge = objectIn(payment, 'latest_charge');
  return (charge && wholeIn(charge, 'amount_refunded')) ?? 0n;
}

function reasonOf(payment: Json): string {
  const error = objectIn(payment, 'last_payment_error');
  return (error && textIn(error, 'message')) ?? 'The payment was refused.';
}

/** Only a method that the payer let us keep: it belongs to a customer of Stripe, and the payment was made for later use. */
function savedMethodOf(payment: Json): PaymentMethodData | undefined {
  return textIn(payment, 'setup_future_usage') === 'off_session' ? methodOf(payment) : undefined;
}

function methodOf(payment: Json): PaymentMethodData | undefined {
  const method = objectIn(payment, 'payment_method');
  const customer = textIn(payment, 'customer');
  const id = method && textIn(method, 'id');
  if (!method || id === undefined || customer === undefined) return undefined;
  return { customer, payment_method: id, ...wordsOfMethod(method) };
}

/** `{brand: 'visa', last4: '4242', expires: '12/2030'}` of a card; of others their type. */
export function wordsOfMethod(method: Json): Readonly<Record<string, string>> {
  const type = textIn(method, 'type') ?? 'card';
  const card = objectIn(method, 'card');
  if (!card) return { brand: type };
  const [month, year] = [wholeIn(card, 'exp_month'), wholeIn(card, 'exp_year')];
  return {
    brand: textIn(card, 'brand') ?? type,
    last4: textIn(card, 'last4') ?? '',
    ...(month !== undefined && year !== undefined ? { expires: `${month}/${year}` } : {}),
  };
}
