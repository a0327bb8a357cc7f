/** What an order of PayPal means for the host. Paid is only what was captured: an approved order has moved no money. */
import {
  GatewayError,
  type PaymentIntent,
  type PaymentMethodData,
  type VendorIntent,
} from '../../../src/plugin-api/index.ts';
import { toMinor } from './amounts.ts';
import { listIn, objectIn, textIn, type Json } from './json.ts';

/** Written into the order, to tell both kinds apart when it is read. */
export const CHECKOUT = 'checkout';
export const RENEWAL = 'renewal';

/** Words for the customer; PayPal's own are codes. */
const REASONS: Readonly<Record<string, string>> = {
  ECHECK: 'The bank debit did not succeed.',
  PENDING_REVIEW: 'PayPal refused the payment after a review.',
};

export function isRenewal(order: Json): boolean {
  return textIn(unitOf(order), 'reference_id') === RENEWAL;
}

/** The state of an order that is read or captured. */
export function stateOfOrder(order: Json, intent: PaymentIntent): VendorIntent {
  const capture = captureOf(order);
  if (!capture) return { ...common(order, unitOf(order)), status: openStatus(order, intent) };
  const status = statusOfCapture(capture);
  const method = status === 'SUCCEEDED' ? savedMethodOf(order) : undefined;
  return {
    ...common(order, capture),
    // PayPal waits for the payer's bank, or looks at the payment: that takes days.
    ...{ status, isProcessing: status === 'PENDING' },
    refundedMinor: refundOf(order, capture),
    reason: status === 'FAILED' ? reasonOf(capture) : null,
    ...(method && { savedMethod: method }),
  };
}

/** PayPal has no order of this id any more: it forgets those that nobody paid, after some hours. Nothing was paid with it. */
export function stateOfGone({ uid, reference, amountMinor, currencyCode }: PaymentIntent): VendorIntent {
  return {
    ...{ intentUid: uid, reference: reference ?? '', amountMinor, currencyCode },
    ...{ status: 'CANCELLED', reason: 'The PayPal checkout has expired.' },
  };
}

function openStatus(order: Json, { status }: PaymentIntent): VendorIntent['status'] {
  const said = textIn(order, 'status');
  if (said === 'VOIDED') return 'CANCELLED';
  if (said === 'COMPLETED')
    throw new GatewayError('unavailable', `PayPal's answer about the order ${idOf(order)} has no payment.`);
  if (isRenewal(order) && said === 'PAYER_ACTION_REQUIRED') return 'REQUIRES_ACTION';
  // The order itself does not show that a way to pay was declined.
  return status === 'REQUIRES_ACTION' ? 'REQUIRES_ACTION' : 'PENDING';
}

function statusOfCapture(capture: Json): VendorIntent['status'] {
  const status = textIn(capture, 'status');
  switch (status) {
    case 'COMPLETED':
    // It was paid, and paid back later: `refundedMinor` says how much.
    case 'PARTIALLY_REFUNDED':
    case 'REFUNDED':
      return 'SUCCEEDED';
    case 'DECLINED':
    case 'FAILED':
      return 'FAILED';
    case 'PENDING':
      return 'PENDING';
    default:
      throw new GatewayError('unavailable', `PayPal answered the unknown state "${status ?? ''}" of a payment.`);
  }
}

/** The amount and the ids: of the capture if there is one, because what was really received is compared. */
function common(order: Json, holder: Json) {
  const amount = objectIn(holder, 'amount');
  const currencyCode = textIn(amount, 'currency_code') ?? '';
  const amountMinor = toMinor(textIn(amount, 'value') ?? '', currencyCode);
  if (amountMinor === undefined)
    throw new GatewayError('unavailable', `PayPal's answer about the order ${idOf(order)} has no amount.`);
  return {
    ...{ amountMinor, currencyCode, reference: idOf(order), reason: null },
    intentUid: textIn(unitOf(order), 'custom_id') ?? textIn(holder, 'custom_id') ?? null,
  };
}

export function idOf(order: Json): string {
  const id = textIn(order, 'id');
  if (id === undefined) throw new GatewayError('unavailable', "PayPal's answer has no id.");
  return id;
}

/** Our orders have one. */
function unitOf(order: Json): Json {
  return listIn(order, 'purchase_units')[0] ?? {};
}

/** The one that counts: an order is captured once, but a capture may have failed before. */
function captureOf(order: Json): Json | undefined {
  const captures = listIn(objectIn(unitOf(order), 'payments'), 'captures');
  return (
    captures.find((capture) => !['DECLINED', 'FAILED'].includes(textIn(capture, 'status') ?? '')) ?? captures.at(-1)
  );
}

function refundOf(order: Json, capture: Json): bigint {
  const refunds = listIn(objectIn(unitOf(order), 'payments'), 'refunds');
  const done = refunds.filter((refund) => textIn(refund, 'status') === 'COMPLETED');
  const sum = done.reduce((total, refund) => total + amountOf(refund), 0n);
  return textIn(capture, 'status') === 'REFUNDED' && sum === 0n ? amountOf(capture) : sum;
}

function amountOf(holder: Json): bigint {
  const amount = objectIn(holder, 'amount');
  return toMinor(textIn(amount, 'value') ?? '', textIn(amount, 'currency_code') ?? '') ?? 0n;
}

function reasonOf(capture: Json): string {
  return REASONS[textIn(objectIn(capture, 'status_details'), 'reason') ?? ''] ?? 'PayPal refused the payment.';
}

/** Only an account that the payer let us keep, and that PayPal has stored. */
function savedMethodOf(order: Json): PaymentMethodData | undefined {
  const payer = objectIn(order, 'payment_source', 'paypal');
  const vault = objectIn(payer, 'attributes', 'vault');
  const id = textIn(vault, 'id');
  if (id === undefined || !['VAULTED', undefined].includes(textIn(vault, 'status'))) return undefined;
  const customer = textIn(objectIn(vault, 'customer'), 'id');
  return {
    vault_id: id,
    ...(customer !== undefined && { customer }),
    account: hidden(textIn(payer, 'email_address') ?? ''),
  };
}

/** `p…@example.com`: enough for its owner. */
function hidden(email: string): string {
  const [name = '', host] = email.split('@');
  return host === undefined ? '' : `${name.slice(0, 1)}…@${host}`;
}
