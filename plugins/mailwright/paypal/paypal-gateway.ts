/** The service of the gateway: reads payments, captures what was approved, charges saved PayPal accounts. */
import {
  GatewayError,
  type GatewayRecord,
  type PaymentGatewayService,
  type PaymentIntent,
  type PaymentMethodData,
  type PluginServices,
  type VendorIntent,
} from '../../../src/plugin-api/index.ts';
import { textIn, type Json } from './json.ts';
import { captureOrder, createOrder, orderForm, readOrder, type Captured } from './orders.ts';
import { idOf, isRenewal, RENEWAL, stateOfGone, stateOfOrder } from './order-state.ts';
import { payPalApi, PayPalError, type PayPalApi } from './paypal-api.ts';
import { remoteSubscriptions } from './remote-subscriptions.ts';
import { leaveSubscription, stateOfSubscription } from './subscriptions.ts';
import { settingsOf } from './settings.ts';

const OPEN: readonly PaymentIntent['status'][] = ['PENDING', 'REQUIRES_ACTION'];
/** The payer can still pay: at PayPal, and with another card or account if this one was declined. */
const NEEDS_PAYER = new Set(['PAYER_ACTION_REQUIRED', 'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING', 'ORDER_NOT_APPROVED']);
/** A saved account may be good again later: it had no money, or PayPal's risk check said no. After other refusals it is not. */
const TEMPORARY = new Set([
  'INSTRUMENT_DECLINED',
  'TRANSACTION_REFUSED',
  'TRANSACTION_LIMIT_EXCEEDED',
  'PAYER_CANNOT_PAY',
]);

export function payPalGateway(
  services: Pick<PluginServices, 'fetch' | 'log'>,
  gateway: GatewayRecord,
): PaymentGatewayService {
  const api = payPalApi(services, settingsOf(gateway.data));
  return {
    getCheckoutUrl: ({ token }) => `/plugins/mailwright/paypal/checkout/${token}`,
    getMethodTitle: () => 'PayPal',
    getMethodInfo: (method) => method?.['account'] ?? '',
    getMethodId: (method) => method['vault_id'] ?? '',
    getIntentState: (intent) => readState(api, intent),
    // An order is paid only when we capture it, and one of a closed intent is not captured.
    async cancelIntent({ remotePlanId, reference }) {
      if (remotePlanId !== null && reference !== null) await leaveSubscription(api, reference, 'Paid in another way.');
    },
    prepareCharge: (intent) => prepare(api, intent),
    autoCharge: (intent, method) => charge(api, intent, method),
    removeMethod: (method) => removeAccount(api, method),
    async test() {
      try {
        await api.checkCredentials();
        return { ok: true };
      } catch (error) {
        if (error instanceof GatewayError) return { ok: false, message: error.message };
        throw error;
      }
    },
    async createSubscription() {
      throw new GatewayError(
        'refused',
        'PayPal begins subscriptions only on its own page, which the payer must agree to.',
      );
    },
    ...remoteSubscriptions(api),
  };
}

/**
 * Reads the order, and captures it if the payer has approved it and the browser did not come back. Not after a decline: only the payer's
 * return says that another way to pay was chosen, see checkout-routes.ts.
 */
async function readState(api: PayPalApi, intent: PaymentIntent): Promise<VendorIntent | undefined> {
  if (intent.reference === null) return undefined;
  if (intent.remotePlanId !== null) return stateOfSubscription(api, intent);
  const order = await readOrder(api, intent.reference);
  if (!order) return OPEN.includes(intent.status) ? stateOfGone(intent) : undefined;
  if (intent.status !== 'PENDING' || !isApproved(order) || isRenewal(order)) return stateOfOrder(order, intent);
  return stateAfter(await captureOrder(api, order, { intentUid: intent.uid }), { order, intent });
}

function isApproved(order: Json): boolean {
  return textIn(order, 'status') === 'APPROVED';
}

function stateAfter(
  captured: Captured,
  { order, intent }: { readonly order: Json; readonly intent: PaymentIntent },
): VendorIntent {
  if ('order' in captured) return stateOfOrder(captured.order, intent);
  const { issue = '', message } = captured.refused;
  // At the checkout the payer may choose another way to pay the same order; a saved account has only one.
  const isOpen = NEEDS_PAYER.has(issue) || (issue === 'INSTRUMENT_DECLINED' && !isRenewal(order));
  const isPermanent = !isOpen && !TEMPORARY.has(issue);
  return {
    ...stateOfOrder(order, intent),
    status: isOpen ? 'REQUIRES_ACTION' : 'FAILED',
    reason: message,
    isPermanent,
  };
}

/** An order without a payer moves no money. */
async function prepare(api: PayPalApi, intent: PaymentIntent): Promise<{ readonly reference: string }> {
  return { reference: idOf(await createOrder(api, orderForm(intent, RENEWAL), `prepare-${intent.uid}`)) };
}

/** Reads the order first: it may have been captured by an attempt whose answer was lost, longer ago than PayPal keeps keys. */
async function charge(api: PayPalApi, intent: PaymentIntent, method: PaymentMethodData): Promise<VendorIntent> {
  const order = await readOrder(api, intent.reference ?? '');
  // Not found right after it was made, or forgotten: only reading it again tells, and the host waits for that.
  if (!order) throw new GatewayError('unavailable', 'PayPal does not find the order.');
  if (!isApproved(order) && textIn(order, 'status') !== 'CREATED') return stateOfOrder(order, intent);
  const source = { paypal: { vault_id: method['vault_id'] } };
  return stateAfter(await captureOrder(api, order, { intentUid: intent.uid, source }), { order, intent });
}

async function removeAccount(api: PayPalApi, method: PaymentMethodData): Promise<void> {
  try {
    await api.delete(`/v3/vault/payment-tokens/${encodeURIComponent(method['vault_id'] ?? '')}`);
  } catch (error) {
    // Removed before, by us or by the payer.
    if (!(error instanceof PayPalError) || error.status !== 404) throw error;
  }
}
