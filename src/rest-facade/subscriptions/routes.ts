/** Subscriptions (specification 4.8, and the rows of 4.7 that give customers plans; decisions D34 to D36). */
import type { RestSubscriptionFragment } from '../../generated/operations.ts';
import { created, done, ok, page, type Answer } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import { neededName, type Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentChange, presentSubscription, presentSubscriptionRow, presentWithHistory } from './present.ts';
import {
  customerSubscriptionShape,
  oneSubscriptionShape,
  planAssignedShape,
  planChangedShape,
  subscriptionActionShape,
  subscriptionCreatedShape,
  subscriptionRowShape,
} from './shapes.ts';

const SWITCHED = 'Customer was changed to new plan';
const WAITING = 'Customer was changed to new plan, which begins when the invoice is paid';

export const subscriptionRows = [
  endpoint({
    method: 'GET',
    path: '/subscriptions',
    access: 'admin',
    summary: 'Lists the subscriptions of all customers, the oldest first; `plan_uid` limits them to one plan.',
    answers: answersPage(subscriptionRowShape),
    operation: 'Subscriptions',
    variables: (input) => ({
      ...pageArguments(input),
      planUid: input.text('plan_uid') || undefined,
      customerUid: input.text('customer_uid') || undefined,
    }),
    present: ({ subscriptionsPage }) => page(subscriptionsPage, presentSubscriptionRow),
  }),
  endpoint({
    method: 'POST',
    path: '/subscriptions',
    access: 'admin',
    summary: 'Gives a customer a subscription: `pending` with an invoice if the plan has a price, otherwise `active`.',
    answers: answersCreated(subscriptionCreatedShape),
    required: ['customer_uid', 'plan_uid'],
    operation: 'CreateSubscription',
    variables: (input) => ({
      input: {
        customerUid: neededName(input, 'customer_uid'),
        planUid: neededName(input, 'plan_uid'),
        disableBilling: input.flag('disable_billing'),
      },
    }),
    present: ({ createSubscription }) =>
      created('Subscription was successfully created', presentChange(createSubscription)),
  }),
  endpoint({
    method: 'GET',
    path: '/subscriptions/:uid',
    access: 'admin',
    summary: 'Shows one subscription with its renewal history.',
    answers: answersBody(oneSubscriptionShape),
    operation: 'PlanSubscription',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ subscription }) => ok({ subscription: presentWithHistory(subscription) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/subscriptions/:uid',
    access: 'admin',
    summary: 'Changes the end, the period, or the options that override those of the plan.',
    answers: answersBody(subscriptionActionShape),
    operation: 'UpdateSubscription',
    variables: (input) => ({ input: { ...changes(input), uid: input.param('uid') } }),
    fieldName,
    present: ({ updateSubscription }) => acted('Subscription was successfully updated', updateSubscription),
  }),
  endpoint({
    method: 'POST',
    path: '/subscriptions/:uid/activate',
    access: 'admin',
    summary:
      'Activates a subscription without payment: a waiting one starts, a due one is renewed, a cancelled one continues.',
    answers: answersBody(subscriptionActionShape),
    operation: 'ActivateSubscription',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ activateSubscription }) => acted('Subscription was activated', activateSubscription),
  }),
  endpoint({
    method: 'POST',
    path: '/subscriptions/:uid/cancel',
    access: 'admin',
    summary: 'Cancels a subscription: it continues to the end of its period.',
    answers: answersBody(subscriptionActionShape),
    operation: 'CancelSubscription',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ cancelSubscription }) => acted('Subscription was cancelled', cancelSubscription),
  }),
  endpoint({
    method: 'POST',
    path: '/subscriptions/:uid/terminate',
    access: 'admin',
    summary: 'Ends a subscription at once.',
    answers: answersBody(subscriptionActionShape),
    operation: 'TerminateSubscription',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ terminateSubscription }) => acted('Subscription was terminated', terminateSubscription),
  }),
  endpoint({
    method: 'POST',
    path: '/customers/:uid/assign-plan/:plan_uid',
    access: 'admin',
    summary: 'Gives a customer a plan without billing: the previous subscription ends, and the new one starts at once.',
    answers: answersBody(planAssignedShape),
    operation: 'AssignPlan',
    variables: planOfCustomer,
    present: ({ assignPlan }) =>
      done('Customer was assigned to plan', {
        customer_uid: assignPlan.customerUid,
        plan_uid: assignPlan.plan.uid,
        subscription_uid: assignPlan.uid,
        subscription: presentSubscription(assignPlan),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/customers/:uid/change-plan/:plan_uid',
    actsOutside: true,
    access: 'admin',
    summary: 'Moves a customer to another plan and charges the difference; at once if nothing is due.',
    answers: answersBody(planChangedShape),
    operation: 'ChangePlan',
    variables: planOfCustomer,
    present: ({ changePlan }, _view, input) =>
      done(changePlan.invoice ? WAITING : SWITCHED, {
        customer_uid: changePlan.subscription.customerUid,
        plan_uid: input.param('plan_uid'),
        ...presentChange(changePlan),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/customers/:uid/subscription/update',
    access: 'admin',
    summary: 'Changes the end, the period or the options of the present subscription of a customer.',
    answers: answersBody(customerSubscriptionShape),
    operation: 'UpdateCustomerSubscription',
    variables: (input) => ({ input: { ...changes(input), customerUid: input.param('uid') } }),
    fieldName,
    present: ({ updateCustomerSubscription: subscription }) =>
      done('Subscription was successfully updated', {
        customer_uid: subscription.customerUid,
        subscription_uid: subscription.uid,
        subscription: presentSubscription(subscription),
      }),
  }),
];

/** `disable_billing` and `gateway` may be sent and are ignored (decision D35). */
function planOfCustomer(input: Input) {
  const keepOverrides = input.flag('keep_overrides');
  return { input: { customerUid: input.param('uid'), planUid: input.param('plan_uid'), keepOverrides } };
}

function changes(input: Input) {
  const options = input.plainObject('options');
  return {
    endsAt: input.time('ends_at'),
    currentPeriodEndsAt: input.time('current_period_ends_at'),
    frequencyAmount: input.integer('frequency_amount'),
    frequencyUnit: input.nullableText('frequency_unit'),
    options: options && { ...options },
  };
}

function acted(message: string, subscription: RestSubscriptionFragment): Answer {
  return done(message, { subscription_uid: subscription.uid, subscription: presentSubscription(subscription) });
}

/** Options keep their names. */
function fieldName(path: string): string | undefined {
  return path.startsWith('options.') ? path : undefined;
}
