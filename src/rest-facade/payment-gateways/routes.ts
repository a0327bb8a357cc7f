/** Payment gateways (specification 4.13): extensions of the contract, for administrators. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentGateway, presentGatewayType } from './present.ts';
import {
  gatewayActionShape,
  gatewayDeletedShape,
  gatewayShape,
  gatewayTestedShape,
  gatewayTypesShape,
  oneGatewayShape,
} from './shapes.ts';

export const paymentGatewayRows = [
  endpoint({
    method: 'GET',
    path: '/payment_gateways',
    access: 'admin',
    summary: 'Lists the payment gateways that are set up, the oldest first.',
    answers: answersPage(gatewayShape),
    operation: 'PaymentGateways',
    variables: pageArguments,
    present: ({ paymentGatewaysPage }) => page(paymentGatewaysPage, presentGateway),
  }),
  endpoint({
    method: 'GET',
    path: '/payment_gateway_types',
    access: 'admin',
    summary: 'Lists the types of payment gateways that can be set up: those of active plugins, and `offline`.',
    answers: answersBody(gatewayTypesShape),
    operation: 'PaymentGatewayTypes',
    variables: () => ({}),
    present: ({ paymentGatewayTypes }) => ok(paymentGatewayTypes.nodes.map(presentGatewayType)),
  }),
  endpoint({
    method: 'POST',
    path: '/payment_gateways',
    actsOutside: true,
    access: 'admin',
    summary: 'Tries the settings of a payment gateway at its vendor and stores it.',
    details:
      'Errors of settings stand under `errors.settings.<key>`, a failed test under `errors.connection`; nothing is stored then. Credentials are stored encrypted and never answered.',
    answers: answersCreated(gatewayActionShape),
    required: ['name', 'type'],
    operation: 'CreatePaymentGateway',
    variables: (input) => ({
      input: {
        name: input.text('name') ?? '',
        type: input.text('type') ?? '',
        settings: settings(input) ?? {},
        status: input.text('status'),
      },
    }),
    fieldName,
    present: ({ createPaymentGateway: gateway }) =>
      created('Payment gateway was successfully created', {
        payment_gateway_uid: gateway.uid,
        payment_gateway: presentGateway(gateway),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/payment_gateways/:uid',
    access: 'admin',
    summary: 'Shows one payment gateway, without its credentials.',
    answers: answersBody(oneGatewayShape),
    operation: 'PaymentGateway',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ paymentGateway }) => ok({ payment_gateway: presentGateway(paymentGateway) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/payment_gateways/:uid',
    actsOutside: true,
    access: 'admin',
    summary: 'Changes a payment gateway; changed settings are tried first.',
    answers: answersBody(gatewayActionShape),
    operation: 'UpdatePaymentGateway',
    variables: (input) => ({
      input: {
        uid: input.param('uid'),
        name: input.text('name'),
        settings: settings(input),
        status: input.text('status'),
      },
    }),
    fieldName,
    present: ({ updatePaymentGateway: gateway }) =>
      done('Payment gateway was successfully updated', {
        payment_gateway_uid: gateway.uid,
        payment_gateway: presentGateway(gateway),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/payment_gateways/:uid/test',
    actsOutside: true,
    access: 'admin',
    summary: 'Tests a payment gateway: calls its vendor with the stored credentials.',
    details: 'A failed test is answered with 200 and `accepted: false`, with the reason.',
    answers: answersBody(gatewayTestedShape),
    operation: 'TestPaymentGateway',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ testPaymentGateway: { isAccepted, reason } }, _view, input) =>
      done(isAccepted ? 'The test was successful' : 'The test failed', {
        payment_gateway_uid: input.param('uid'),
        test: { accepted: isAccepted, reason: reason ?? null },
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/payment_gateways/:uid',
    access: 'admin',
    summary: 'Deletes a payment gateway, with its open payments and the methods that customers have saved with it.',
    details:
      'What its vendor still has is closed there first; `is_deleted` is false then, the gateway is inactive for good, and its `fault` says what is left. Refused while money may be moving.',
    answers: answersBody(gatewayDeletedShape),
    operation: 'DeletePaymentGateway',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deletePaymentGateway: { uid, isDeleted } }) =>
      done(isDeleted ? 'Deleted' : 'Is being deleted', { payment_gateway_uid: uid, is_deleted: isDeleted }),
  }),
];

function settings(input: Input): Record<string, unknown> | undefined {
  const given = input.plainObject('settings');
  return given && { ...given };
}

/** Settings keep the names that their plugin gave them. */
function fieldName(path: string): string | undefined {
  return path.startsWith('settings.') || path === 'connection' ? path : undefined;
}
