/**
 * Paying by transfer, the gateway that needs no vendor: the customer claims that it paid, an administrator looks at the bank account and
 * approves or rejects (pay-invoice.ts). Its checkout is the invoice's own page.
 */
import type { PaymentGatewayRegistration } from '../../../plugin-api/index.ts';
import { CURRENCIES } from '../currencies.ts';
import { OFFLINE } from './payment-gateway.ts';

export const offlineGateway: PaymentGatewayRegistration = {
  type: OFFLINE,
  name: 'Offline',
  description: 'By transfer: the customer reports the payment, and an administrator approves it.',
  icon: 'payment',
  isRemoteSubscription: false,
  formView: '',
  configKeys: [],
  secretKeys: [],
  currencies: CURRENCIES.map(({ code }) => code),
  validate: () => ({ ok: true, data: {} }),
  serviceFactory: () => ({
    getCheckoutUrl: (_intent, returnUrl) => returnUrl,
    getMethodTitle: () => 'Bank transfer',
    getMethodInfo: () => '',
    // Nobody but an administrator knows it.
    getIntentState: async () => undefined,
    test: async () => ({ ok: true }),
  }),
};
