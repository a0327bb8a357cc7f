/**
 * The plugin's own address, `/plugins/mailwright/stripe/checkout/<token>`: makes a Checkout Session, has its id saved, and sends the browser to
 * Stripe. Opening it again leads to the same session, by the idempotency key.
 */
import { createHash } from 'node:crypto';
import {
  GatewayError,
  type OpenedCheckout,
  type PaymentsService,
  type PluginFetch,
  type Route,
} from '../../../src/plugin-api/index.ts';
import { toStripeCurrency } from './amounts.ts';
import { settingsOf } from './settings.ts';
import { stripeApi, textIn, type Form, type StripeApi } from './stripe-api.ts';

const PRODUCT_LENGTH_MAX = 250;
const NO_LINK = 'This link does not work any more. Please open the page of the invoice again.';
const NO_CHECKOUT = 'Stripe could not begin the payment. Please try again later, or pay in another way.';

export function checkoutRoute(fetch: PluginFetch, payments: PaymentsService): Route {
  return {
    method: 'GET',
    path: '/checkout/:token',
    auth: 'public',
    async handle({ params }) {
      const checkout = await payments.openCheckout(params['token'] ?? '');
      if (!checkout) return { status: 404, text: NO_LINK };
      const { intent, gateway, returnUrl } = checkout;
      const api = stripeApi(fetch, settingsOf(gateway.data).secretKey);
      try {
        const session = await openSession(api, checkout);
        const [id, url] = [textIn(session, 'id'), textIn(session, 'url')];
        // It was paid or has expired: the page of the invoice asks Stripe about it.
        if (id === undefined || url === undefined) return { redirect: returnUrl };
        return (await payments.saveReference(intent.uid, id)) ? { redirectTo: url } : { redirect: returnUrl };
      } catch (error) {
        if (error instanceof GatewayError) return { redirect: returnUrl, error: NO_CHECKOUT };
        throw error;
      }
    },
  };
}

function openSession(api: StripeApi, checkout: OpenedCheckout) {
  const { intent } = checkout;
  if (intent.reference !== null) return api.get(`/checkout/sessions/${encodeURIComponent(intent.reference)}`);
  const form = sessionForm(checkout);
  // The page's link is another one on the next day, and Stripe refuses other parameters with the same key. The session of an earlier day was
  // never shown to anybody: its id was not saved.
  const digest = createHash('sha256').update(JSON.stringify(form)).digest('hex').slice(0, 16);
  return api.post('/checkout/sessions', form, `checkout-${intent.uid}-${digest}`);
}

function sessionForm({ intent, gateway, absoluteReturnUrl }: OpenedCheckout): Form {
  const { savesCards } = settingsOf(gateway.data);
  const metadata = { intent_uid: intent.uid, invoice_uid: intent.invoiceUid };
  const common = {
    ...{ client_reference_id: intent.uid, success_url: absoluteReturnUrl, cancel_url: absoluteReturnUrl, metadata },
  };
  if (intent.remotePlanId !== null)
    return {
      mode: 'subscription',
      ...common,
      line_items: [{ quantity: 1, price: intent.remotePlanId }],
      subscription_data: { metadata },
    };
  return {
    mode: 'payment',
    ...common,
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: toStripeCurrency(intent.currencyCode),
          unit_amount: intent.amountMinor.toString(),
          product_data: { name: intent.description.slice(0, PRODUCT_LENGTH_MAX) },
        },
      },
    ],
    ...(savesCards && { customer_creation: 'always' }),
    payment_intent_data: { metadata, ...(savesCards && { setup_future_usage: 'off_session' }) },
  };
}
