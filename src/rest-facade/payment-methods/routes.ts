/** Saved payment methods: extensions of the contract. */
import { z } from 'zod';
import type { RestPaymentMethodFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const methodsShape = z.array(
  z
    .strictObject({
      uid: uidShape,
      title: z.string().meta({ description: 'Such as `Visa`.' }),
      info: z.string().meta({ description: 'Such as `ends in 4242, 12/2030`; may be empty.' }),
      is_used: z.boolean().meta({ description: 'The next renewal is charged to it.' }),
      pays_remote_subscription: z.boolean().meta({
        description:
          'A subscription that the vendor keeps is paid with it, and is not paid any more when it is removed.',
      }),
      gateway_uid: uidShape,
      gateway_name: z.string(),
      gateway_type: z.string(),
      created_at: timeShape,
    })
    .meta({ id: 'PaymentMethod' }),
);

export const paymentMethodRows = [
  endpoint({
    method: 'GET',
    path: '/payment_methods',
    access: 'token',
    summary:
      'Lists the cards and accounts that the customer has saved to pay renewals with, the newest first; administrators name a customer by `customer_uid`.',
    answers: answersBody(methodsShape),
    operation: 'PaymentMethods',
    variables: (input) => ({ customerUid: input.text('customer_uid') }),
    present: ({ paymentMethods }) => ok(paymentMethods.nodes.map(presentMethod)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/payment_methods/:uid',
    access: 'token',
    summary:
      'Removes a saved payment method, here at once and at its vendor soon; administrators that of any customer.',
    details: 'Nothing is charged to it any more. Without another one, renewals are paid on the page of the invoice.',
    answers: answersBody(
      actionShape({
        payment_method_uid: uidShape,
        warning: z.string().nullable().meta({
          description: 'What stops working without it, such as a subscription that the vendor keeps; null: nothing.',
        }),
      }),
    ),
    operation: 'RemovePaymentMethod',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ removePaymentMethod: { uid, warning } }) =>
      done('Removed', { payment_method_uid: uid, warning: warning ?? null }),
  }),
];

function presentMethod(method: RestPaymentMethodFragment) {
  return {
    uid: method.uid,
    title: method.title,
    info: method.info,
    is_used: method.isUsed,
    pays_remote_subscription: method.paysRemoteSubscription,
    gateway_uid: method.gatewayUid,
    gateway_name: method.gatewayName,
    gateway_type: method.gatewayType,
    created_at: restTime(method.createdAt),
  };
}
