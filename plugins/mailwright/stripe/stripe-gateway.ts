/** The service of the gateway: reads and cancels payments, charges saved cards. */
import {
  GatewayError,
  type GatewayRecord,
  type PaymentGatewayService,
  type PaymentIntent,
  type PaymentMethodData,
  type PluginFetch,
  type VendorIntent,
} from '../../../src/plugin-api/index.ts';
import { toStripeCurrency } from './amounts.ts';
import { remoteSubscriptions, subscribe } from './remote-subscriptions.ts';
import { settingsOf } from './settings.ts';
import { StripeError, stripeApi, textIn, type StripeApi } from './stripe-api.ts';
import { stateOfPaymentIntent, stateOfSession, stateOfSubscription } from './vendor-state.ts';

const SESSION = /^cs_/;
const SUBSCRIPTION = /^sub_/;
/** Codes of an object that is in another state than the request needs: reading it says which. */
const OTHER_STATE = new Set(['payment_intent_unexpected_state', 'resource_missing']);

/** A card that its bank has renewed has another expiry date. */
const WITH_METHOD = { expand: { 0: 'payment_method' } };

export function stripeGateway(fetch: PluginFetch, gateway: GatewayRecord): PaymentGatewayService {
  const api = stripeApi(fetch, settingsOf(gateway.data).secretKey);
  return {
    getCheckoutUrl: ({ token }) => `/plugins/mailwright/stripe/checkout/${token}`,
    getMethodTitle: (method) => (method ? brandOf(method) : 'Card'),
    getMethodInfo: (method) => (method ? infoOf(method) : ''),
    getMethodId: (method) => method['payment_method'] ?? '',
    getIntentState: (intent) => readState(api, intent),
    cancelIntent: (intent) => cancel(api, intent),
    prepareCharge: (intent, method) => prepare(api, intent, method),
    autoCharge: (intent) => charge(api, intent),
    removeMethod: (method) => detach(api, method),
    createSubscription: (intent, method) => subscribe(api, intent, method),
    async test() {
      try {
        await api.get('/balance');
        return { ok: true };
      } catch (error) {
        if (error instanceof GatewayError) return { ok: false, message: error.message };
        throw error;
      }
    },
    ...remoteSubscriptions(api),
  };
}

async function readState(api: StripeApi, { reference }: PaymentIntent): Promise<VendorIntent | undefined> {
  if (reference === null) return undefined;
  const id = encodeURIComponent(reference);
  try {
    if (SUBSCRIPTION.test(reference))
      return stateOfSubscription(await api.get(`/subscriptions/${id}`, expand('latest_invoice')));
    if (!SESSION.test(reference))
      return stateOfPaymentIntent(await api.get(`/payment_intents/${id}`, expand('latest_charge', 'payment_method')));
    const expanded = expand('payment_intent.payment_method', 'payment_intent.latest_charge');
    return stateOfSession(await api.get(`/checkout/sessions/${id}`, expanded));
  } catch (error) {
    if (error instanceof StripeError && error.code === 'resource_missing') return undefined;
    throw error;
  }
}

function expand(...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name, index) => [`expand[${index}]`, name]));
}

/** A session expires, a payment intent or a subscription is cancelled; what was paid or ended before stays so. */
async function cancel(api: StripeApi, { uid, reference }: PaymentIntent): Promise<void> {
  if (reference === null) return;
  if (SUBSCRIPTION.test(reference)) return cancelSubscription(api, reference);
  const [place, act] = SESSION.test(reference) ? ['checkout/sessions', 'expire'] : ['payment_intents', 'cancel'];
  try {
    await api.post(`/${place}/${encodeURIComponent(reference)}/${act}`, {}, `cancel-${uid}`);
  } catch (error) {
    if (!(error instanceof StripeError) || error.kind !== 'refused') throw error;
  }
}

async function cancelSubscription(api: StripeApi, id: string): Promise<void> {
  try {
    await api.delete(`/subscriptions/${encodeURIComponent(id)}`);
  } catch (error) {
    if (!(error instanceof StripeError) || error.kind !== 'refused') throw error;
  }
}

/** A payment intent that is not confirmed moves no money. */
async function prepare(api: StripeApi, intent: PaymentIntent, method: PaymentMethodData) {
  const form = {
    amount: intent.amountMinor,
    currency: toStripeCurrency(intent.currencyCode),
    customer: method['customer'],
    payment_method: method['payment_method'],
    description: intent.description,
    metadata: { intent_uid: intent.uid, invoice_uid: intent.invoiceUid },
  };
  // Ways to pay that need the payer's browser are of no use here.
  const automatic = { automatic_payment_methods: { enabled: true, allow_redirects: 'never' } };
  const made = await api.post('/payment_intents', { ...form, ...automatic }, `prepare-${intent.uid}`);
  const reference = textIn(made, 'id');
  if (reference === undefined) throw new GatewayError('unavailable', "Stripe's answer has no id.");
  return { reference };
}

/** Confirms it. A decline and a challenge are answers, with the state of the payment intent in the error. */
async function charge(api: StripeApi, intent: PaymentIntent): Promise<VendorIntent> {
  const path = `/payment_intents/${encodeURIComponent(intent.reference ?? '')}/confirm`;
  try {
    return stateOfPaymentIntent(await api.post(path, { off_session: true, ...WITH_METHOD }, `confirm-${intent.uid}`));
  } catch (error) {
    if (!(error instanceof StripeError)) throw error;
    if (error.paymentIntent) return stateOfPaymentIntent(error.paymentIntent);
    const state = error.code !== undefined && OTHER_STATE.has(error.code) ? await readState(api, intent) : undefined;
    if (state) return state;
    throw error;
  }
}

async function detach(api: StripeApi, method: PaymentMethodData): Promise<void> {
  const id = encodeURIComponent(method['payment_method'] ?? '');
  try {
    await api.post(`/payment_methods/${id}/detach`, {});
  } catch (error) {
    // Detached before, or gone.
    if (!(error instanceof StripeError) || error.kind !== 'refused') throw error;
  }
}

function brandOf({ brand = 'card' }: PaymentMethodData): string {
  return brand.charAt(0).toUpperCase() + brand.slice(1);
}

function infoOf({ last4 = '', expires }: PaymentMethodData): string {
  if (last4 === '') return '';
  return `ends in ${last4}${expires === undefined ? '' : `, ${expires}`}`;
}
