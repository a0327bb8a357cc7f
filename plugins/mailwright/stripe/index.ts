/** The bundled gateway `stripe`: Stripe's hosted checkout, saved cards, and subscriptions that Stripe keeps. */
import { definePlugin } from '../../../src/plugin-api/index.ts';
import { CURRENCIES } from './amounts.ts';
import { checkoutRoute } from './checkout-route.ts';
import { CONFIG_KEYS, SECRET_KEYS, validateSettings } from './settings.ts';
import { stripeGateway } from './stripe-gateway.ts';

export const plugin = definePlugin({
  name: 'mailwright/stripe',
  boot(hooks, { fetch, payments }) {
    hooks.add('register_payment_gateway', {
      type: 'stripe',
      name: 'Stripe',
      description: "Cards, wallets and bank debits through Stripe's own checkout page; saved cards pay renewals.",
      icon: 'stripe',
      isRemoteSubscription: true,
      configKeys: CONFIG_KEYS,
      secretKeys: SECRET_KEYS,
      currencies: CURRENCIES,
      validate: validateSettings,
      serviceFactory: (gateway) => stripeGateway(fetch, gateway),
    });
    hooks.add('route', checkoutRoute(fetch, payments));
  },
});
