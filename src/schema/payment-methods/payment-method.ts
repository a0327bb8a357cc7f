/** Payment methods that customers have saved with a gateway. What a gateway needs to charge them is never answered. */
import { paymentMethods } from '../../domain/billing/saved-methods/list-methods.ts';
import type { ShownMethod } from '../../domain/billing/saved-methods/method-read-model.ts';
import { removePaymentMethod, type RemovedMethod } from '../../domain/billing/saved-methods/remove-method.ts';
import { builder } from '../builder.ts';
import { readingMoney } from '../invoices/invoice.ts';

const PaymentMethod = builder.objectRef<ShownMethod>('PaymentMethod').implement({
  description: 'A card or an account that a customer has saved at a vendor, to pay renewals with.',
  authScopes: readingMoney,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    title: t.exposeString('title', { description: 'Such as `Visa`.' }),
    info: t.exposeString('info', { description: 'Such as `ends in 4242, 12/2030`; may be empty.' }),
    isUsed: t.exposeBoolean('isUsed', {
      description:
        'The next renewal is charged to it: it is the newest one that the plan and its currency allow. None is used while no renewal costs anything.',
    }),
    paysRemoteSubscription: t.exposeBoolean('paysRemote', {
      description:
        'A subscription that the vendor keeps is paid with it: when it is removed, the vendor cannot take the money for the next period.',
    }),
    gatewayUid: t.exposeString('gatewayUid', { description: 'The payment gateway with which it was saved.' }),
    gatewayName: t.exposeString('gatewayName'),
    gatewayType: t.exposeString('gatewayType'),
    createdAt: t.field({ type: 'DateTime', resolve: ({ createdAt }) => createdAt }),
  }),
});

builder.queryField('paymentMethods', (t) =>
  t.field({
    type: [PaymentMethod],
    description: 'The saved payment methods of a customer, the newest first; a hundred at most.',
    authScopes: readingMoney,
    args: { customerUid: t.arg.string({ description: 'For administrators: of this customer.' }) },
    resolve: (_root, { customerUid }, ctx) => paymentMethods(ctx, customerUid),
  }),
);

const RemovedPaymentMethod = builder.objectRef<RemovedMethod>('RemovedPaymentMethod').implement({
  authScopes: readingMoney,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    warning: t.exposeString('warning', {
      nullable: true,
      description: 'What stops working without it, such as a subscription that the vendor keeps; null: nothing.',
    }),
  }),
});

builder.mutationField('removePaymentMethod', (t) =>
  t.field({
    type: RemovedPaymentMethod,
    description:
      'Removes a saved payment method, here at once and at its vendor soon. Nothing is charged to it any more, and what it was declined for is not tried again: without another one, renewals are paid on the page of the invoice. Administrators may name that of any customer.',
    authScopes: { scope: 'billing:write' },
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => removePaymentMethod(ctx, { uid }),
  }),
);
