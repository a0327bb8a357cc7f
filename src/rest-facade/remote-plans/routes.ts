/** Plans that vendors have, linked with ours, and subscriptions that vendors keep (specification 4.13): extensions of the contract. */
import { z } from 'zod';
import type { RestRemotePlanFragment } from '../../generated/operations.ts';
import { created, done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { neededName } from '../input.ts';
import { presentPayment } from '../invoices/present.ts';
import { paymentActionShape } from '../invoices/shapes.ts';
import { actionShape, answersBody, answersCreated, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const remotePlansShape = z.array(
  z
    .strictObject({
      id: z.string().meta({ description: "The vendor's id: what `remote_plan_id` takes." }),
      name: z.string(),
      price: z.string().meta({ description: 'Of one period, as a decimal.' }),
      currency_code: z.string().length(3),
      frequency_amount: z.string(),
      frequency_unit: z.enum(['day', 'week', 'month', 'year']),
      plan_uid: uidShape.nullable().meta({ description: 'The plan that it is linked with; null: none.' }),
    })
    .meta({ id: 'RemotePlan' }),
);

const linkShape = z
  .strictObject({
    gateway_uid: uidShape,
    remote_plan_id: z.string(),
    remote_name: z.string().meta({ description: "The vendor's name when it was linked." }),
    created_at: timeShape,
  })
  .meta({ id: 'RemotePlanLink' });

export const remotePlanRows = [
  endpoint({
    method: 'GET',
    path: '/payment_gateways/:uid/remote_plans',
    actsOutside: true,
    access: 'admin',
    summary: 'Lists the plans that the vendor of a payment gateway has now. The vendor is asked while one waits.',
    answers: answersBody(remotePlansShape),
    operation: 'RemotePlans',
    variables: (input) => ({ gatewayUid: input.param('uid') }),
    present: ({ remotePlans }) => ok(remotePlans.nodes.map(presentRemotePlan)),
  }),
  endpoint({
    method: 'POST',
    path: '/plans/:uid/remote_plan',
    actsOutside: true,
    access: 'admin',
    summary:
      'Links a plan with a plan of a vendor: customers who pay it there begin a subscription that the vendor keeps.',
    details:
      'Another link of the plan at this gateway is replaced. Refused when price, currency or period differ, which the error names. The vendor is asked while one waits.',
    answers: answersCreated(actionShape({ plan_uid: uidShape, remote_plan: linkShape })),
    required: ['gateway_uid', 'remote_plan_id'],
    operation: 'LinkRemotePlan',
    variables: (input) => ({
      input: {
        planUid: input.param('uid'),
        gatewayUid: neededName(input, 'gateway_uid'),
        remotePlanId: neededName(input, 'remote_plan_id'),
      },
    }),
    present: ({ linkRemotePlan: link }, _view, input) =>
      created('Plan was linked', {
        plan_uid: input.param('uid'),
        remote_plan: {
          gateway_uid: input.text('gateway_uid') ?? '',
          remote_plan_id: link.remotePlanId,
          remote_name: link.remoteName,
          created_at: restTime(link.createdAt),
        },
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/plans/:uid/remote_plan',
    access: 'admin',
    summary: 'Unlinks a plan from the plan of a vendor: nobody begins a subscription for it there any more.',
    details: 'Subscriptions that the vendor keeps go on, at the price that they have.',
    answers: answersBody(actionShape({ plan_uid: uidShape, gateway_uid: uidShape })),
    required: ['gateway_uid'],
    operation: 'UnlinkRemotePlan',
    variables: (input) => ({
      input: { planUid: input.param('uid'), gatewayUid: neededName(input, 'gateway_uid') },
    }),
    present: ({ unlinkRemotePlan: { planUid, gatewayUid } }) =>
      done('Plan was unlinked', { plan_uid: planUid, gateway_uid: gatewayUid }),
  }),
  endpoint({
    method: 'POST',
    path: '/invoices/:uid/remote_subscription',
    actsOutside: true,
    access: 'token',
    summary:
      'Begins a subscription at the vendor with the payment method that the customer has saved there, without a browser.',
    details:
      'The vendor takes the money of the invoice and of every later period. The plan must be linked with a plan of the vendor.',
    answers: answersCreated(paymentActionShape),
    required: ['gateway_uid'],
    operation: 'StartRemoteSubscription',
    variables: (input) => ({
      input: { invoiceUid: input.param('uid'), gatewayUid: neededName(input, 'gateway_uid') },
    }),
    present: ({ startRemoteSubscription: payment }) =>
      created('Subscription was begun', {
        payment_uid: payment.uid,
        invoice_uid: payment.invoice.uid,
        payment: presentPayment(payment),
      }),
  }),
];

function presentRemotePlan(plan: RestRemotePlanFragment) {
  return {
    id: plan.id,
    name: plan.name,
    price: plan.price.amount,
    currency_code: plan.price.currencyCode,
    frequency_amount: String(plan.frequencyAmount),
    frequency_unit: plan.frequencyUnit,
    plan_uid: plan.plan?.uid ?? null,
  };
}
