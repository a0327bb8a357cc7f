/** The bundled gateway `paypal`: PayPal's hosted checkout, saved PayPal accounts, and subscriptions that PayPal keeps. */
import { definePlugin } from '../../../src/plugin-api/index.ts';
import { CURRENCIES } from './amounts.ts';
import { checkoutRoutes } from './checkout-routes.ts';
import { payPalGateway } from './paypal-gateway.ts';
import { CONFIG_KEYS, SECRET_KEYS, validateSettings } from './settings.ts';

export const plugin = definePlugin({
  name: 'mailwright/paypal',
  boot(hooks, services) {
    hooks.add('register_payment_gateway', {
      type: 'paypal',
      name: 'PayPal',
      description: "PayPal accounts and cards through PayPal's own checkout page; saved PayPal accounts pay renewals.",
      icon: 'paypal',
      isRemoteSubscription: true,
      configKeys: CONFIG_KEYS,
      secretKeys: SECRET_KEYS,
      currencies: CURRENCIES,
      validate: validateSettings,
      serviceFactory: (gateway) => payPalGateway(services, gateway),
    });
    for (const route of checkoutRoutes(services)) hooks.add('route', route);
  },
});
