/** Orders of PayPal: made, read, captured. */
import { createHash } from 'node:crypto';
import type { PaymentIntent } from '../../../src/plugin-api/index.ts';
import { toPayPalMoney } from './amounts.ts';
import { idOf } from './order-state.ts';
import { textIn, type Json } from './json.ts';
import { PayPalError, type PayPalApi } from './paypal-api.ts';

const ORDERS = '/v2/checkout/orders';
const DESCRIPTION_LENGTH_MAX = 127;
const GONE = new Set(['RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID']);

/** What PayPal shows to the payer; undefined: nothing. */
export function shownText({ description }: PaymentIntent): string | undefined {
  return description === '' ? undefined : description.slice(0, DESCRIPTION_LENGTH_MAX);
}

/** Of an order with one item: the invoice. Throws GatewayError `refused` for an amount that PayPal does not take. */
export function orderForm(intent: PaymentIntent, kind: string): object {
  const description = shownText(intent);
  return {
    intent: 'CAPTURE',
    purchase_units: [
      {
        reference_id: kind,
        amount: toPayPalMoney(intent),
        custom_id: intent.uid,
        // PayPal refuses a second payment with the same one, if the account is set so.
        invoice_id: intent.invoiceUid,
        ...(description !== undefined && { description }),
      },
    ],
  };
}

/** The same form makes the same order for six hours. After that another one, which moves no money: the id of the first was not saved. */
export function createOrder(api: PayPalApi, form: object, act: string): Promise<Json> {
  return api.post(ORDERS, form, `${act}-${digestOf(JSON.stringify(form))}`);
}

/** Undefined: PayPal does not know it, or not any more. */
export async function readOrder(api: PayPalApi, id: string): Promise<Json | undefined> {
  try {
    return await api.get(`${ORDERS}/${encodeURIComponent(id)}`);
  } catch (error) {
    if (error instanceof PayPalError && error.status === 404 && GONE.has(error.issue ?? '')) return undefined;
    throw error;
  }
}

export type Captured = { readonly order: Json } | { readonly refused: PayPalError };

/**
 * Takes the money of an order that the payer has approved, or, with `source`, of a saved account. PayPal captures an order once, whatever the
 * key, so this is safe also after the six hours for which it keeps keys; the caller has read the order just before. Throws when nobody knows.
 */
export async function captureOrder(
  api: PayPalApi,
  order: Json,
  { intentUid, source }: { intentUid: string; source?: object },
): Promise<Captured> {
  const id = idOf(order);
  // After a decline the payer approves the order again with another way to pay: that is another act than the one that was declined.
  const key = source ? `charge-${intentUid}` : `capture-${intentUid}-${digestOf(textIn(order, 'update_time') ?? '')}`;
  try {
    const body = source ? { payment_source: source } : {};
    return { order: await api.post(`${ORDERS}/${encodeURIComponent(id)}/capture`, body, key) };
  } catch (error) {
    if (!(error instanceof PayPalError) || error.kind !== 'refused' || error.status !== 422) throw error;
    const captured = error.issue === 'ORDER_ALREADY_CAPTURED' ? await readOrder(api, id) : undefined;
    return captured ? { order: captured } : { refused: error };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
