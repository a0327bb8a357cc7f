/**
 * The plugin's own addresses. `/checkout/<token>` makes an order or a subscription, has its id saved, and sends the browser to PayPal. PayPal sends it back to
 * `/approved/<token>`, which captures the order, or back to PayPal when the card or account was declined.
 */
import {
  GatewayError,
  type OpenedCheckout,
  type PluginServices,
  type Route,
  type RouteAnswer,
} from '../../../src/plugin-api/index.ts';
import { linkIn, textIn, type Json } from './json.ts';
import { captureOrder, createOrder, orderForm, readOrder, shownText } from './orders.ts';
import { CHECKOUT, idOf } from './order-state.ts';
import { payPalApi, PayPalError, type PayPalApi } from './paypal-api.ts';
import { createSubscription, readSubscription } from './subscriptions.ts';
import { settingsOf, type PayPalMode } from './settings.ts';

const CHECKOUT_PAGE = {
  live: 'https://www.paypal.com/checkoutnow',
  sandbox: 'https://www.sandbox.paypal.com/checkoutnow',
} as const;
/** A route has ten seconds for two requests (a token is asked for in the first one only now and then); what was captured later than that is found by the page of the invoice. */
const TIMEOUT_MS = 4_500;
const NO_LINK = 'This link does not work any more. Please open the page of the invoice again.';
const NO_CHECKOUT = 'PayPal could not begin the payment. Please try again later, or pay in another way.';
const NO_ANSWER = 'PayPal has not answered yet. Press "Check again" in a moment.';
const DECLINED = new Set(['INSTRUMENT_DECLINED', 'PAYER_ACTION_REQUIRED', 'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING']);

type Act = (api: PayPalApi, checkout: OpenedCheckout, token: string) => Promise<RouteAnswer>;
type Services = Pick<PluginServices, 'fetch' | 'log' | 'payments'>;

export function checkoutRoutes(services: Services): readonly Route[] {
  return [
    route(services, {
      path: '/checkout/:token',
      act: (api, checkout, token) => begin(services, api, { checkout, token }),
      // Our own sentences are for the customer; what PayPal says to us is in the log.
      fault: (error) => (error.kind === 'refused' && !(error instanceof PayPalError) ? error.message : NO_CHECKOUT),
    }),
    // The money may have moved: nobody must be told to pay in another way.
    route(services, { path: '/approved/:token', act: approve, fault: () => NO_ANSWER }),
  ];
}

function route(
  services: Services,
  { path, act, fault }: { path: string; act: Act; fault: (error: GatewayError) => string },
): Route {
  return {
    ...{ method: 'GET', path, auth: 'public' },
    async handle({ params }) {
      const token = params['token'] ?? '';
      const checkout = await services.payments.openCheckout(token);
      if (!checkout) return { status: 404, text: NO_LINK };
      try {
        return await act(payPalApi(services, settingsOf(checkout.gateway.data), TIMEOUT_MS), checkout, token);
      } catch (error) {
        if (error instanceof GatewayError) return { redirect: checkout.returnUrl, error: fault(error) };
        throw error;
      }
    },
  };
}

async function begin(
  { payments, log }: Services,
  api: PayPalApi,
  { checkout, token }: { checkout: OpenedCheckout; token: string },
): Promise<RouteAnswer> {
  const { intent, gateway, returnUrl } = checkout;
  if (intent.remotePlanId !== null) return subscribe(payments, api, checkout);
  if (intent.reference !== null) return continueCheckout(api, checkout, intent.reference);
  const { savesAccounts } = settingsOf(gateway.data);
  const create = (saves: boolean) => createOrder(api, checkoutForm(checkout, token, saves), `create-${intent.uid}`);
  const order = await create(savesAccounts).catch((error: unknown) => {
    const mayNotSave = error instanceof PayPalError && error.issue === 'NOT_ENABLED_TO_VAULT_PAYMENT_SOURCE';
    if (!savesAccounts || !mayNotSave) throw error;
    // The customer can pay nevertheless. The operator has to ask PayPal for the right to save accounts, or switch the setting off.
    log.warn('paypal.save_not_enabled', { gateway: gateway.uid });
    return create(false);
  });
  if (!(await payments.saveReference(intent.uid, idOf(order)))) return { redirect: returnUrl };
  return { redirectTo: approvalPage(order, modeOf(checkout)) };
}

/** A subscription that PayPal keeps: the payer agrees to it at PayPal, which takes the money then, and comes back to the page of the invoice. */
async function subscribe(
  payments: Services['payments'],
  api: PayPalApi,
  { intent, returnUrl, absoluteReturnUrl }: OpenedCheckout,
): Promise<RouteAnswer> {
  const urls = { return_url: absoluteReturnUrl, cancel_url: absoluteReturnUrl };
  const subscription =
    intent.reference === null
      ? await createSubscription(api, intent, urls)
      : await readSubscription(api, intent.reference);
  const approval = subscription && linkIn(subscription, 'approve');
  // The payer has agreed already, or PayPal has forgotten it: the page of the invoice finds out.
  if (!subscription || approval === undefined || textIn(subscription, 'status') !== 'APPROVAL_PENDING')
    return { redirect: returnUrl };
  if (intent.reference === null && !(await payments.saveReference(intent.uid, idOf(subscription))))
    return { redirect: returnUrl };
  return { redirectTo: approval };
}

/** The order was made before: to PayPal again, unless it is approved or ended, which the page of the invoice finds out. */
async function continueCheckout(api: PayPalApi, checkout: OpenedCheckout, reference: string): Promise<RouteAnswer> {
  const { intent, returnUrl } = checkout;
  const order = await readOrder(api, reference);
  const status = order && textIn(order, 'status');
  const isOver = status === undefined || status === 'COMPLETED' || status === 'VOIDED';
  if (!order || isOver || (status === 'APPROVED' && intent.status === 'PENDING')) return { redirect: returnUrl };
  return { redirectTo: approvalPage(order, modeOf(checkout)) };
}

/** The payer has come back. The page of the invoice says what became of it. */
async function approve(api: PayPalApi, checkout: OpenedCheckout): Promise<RouteAnswer> {
  const { intent, returnUrl } = checkout;
  const order = intent.reference === null ? undefined : await readOrder(api, intent.reference);
  if (!order || textIn(order, 'status') !== 'APPROVED') return { redirect: returnUrl };
  const captured = await captureOrder(api, order, { intentUid: intent.uid });
  if ('order' in captured || !DECLINED.has(captured.refused.issue ?? '')) return { redirect: returnUrl };
  return { redirectTo: captured.refused.redirectTo ?? approvalPage({ id: idOf(order) }, modeOf(checkout)) };
}

function checkoutForm(
  { intent, returnUrl, absoluteReturnUrl }: OpenedCheckout,
  token: string,
  savesAccounts: boolean,
): object {
  const base = absoluteReturnUrl.slice(0, -returnUrl.length);
  const description = shownText(intent);
  const vault = {
    ...{ store_in_vault: 'ON_SUCCESS', usage_type: 'MERCHANT', usage_pattern: 'RECURRING_PREPAID' },
    ...(description !== undefined && { description }),
  };
  return {
    ...orderForm(intent, CHECKOUT),
    payment_source: {
      paypal: {
        experience_context: {
          return_url: `${base}/plugins/mailwright/paypal/approved/${token}`,
          cancel_url: absoluteReturnUrl,
          user_action: 'PAY_NOW',
          shipping_preference: 'NO_SHIPPING',
        },
        ...(savesAccounts && { attributes: { vault } }),
      },
    },
  };
}

/** An order that was approved once has no link to it any more. */
function approvalPage(order: Json, mode: PayPalMode): string {
  return linkIn(order, 'payer-action', 'approve') ?? `${CHECKOUT_PAGE[mode]}?token=${encodeURIComponent(idOf(order))}`;
}

function modeOf({ gateway }: OpenedCheckout): PayPalMode {
  return settingsOf(gateway.data).mode;
}
