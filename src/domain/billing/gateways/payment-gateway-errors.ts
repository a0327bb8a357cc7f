/** The errors of payment gateways, by code. */
import { NotFoundError, ValidationError, WrongStateError, type FieldErrors } from '../../../lib/errors.ts';
import { GATEWAYS_MAX } from './payment-gateway.ts';

export const gatewayNotFound = () => new NotFoundError('PAYMENT_GATEWAY_NOT_FOUND', 'No payment gateway has this uid.');

export const unknownGatewayType = (types: readonly string[]) =>
  new ValidationError(
    { type: [`No active plugin provides payment gateways of this type. There are: ${types.join(', ')}.`] },
    'PAYMENT_GATEWAY_TYPE_UNKNOWN',
  );

export const wrongGatewaySettings = (errors: FieldErrors) =>
  new ValidationError(
    Object.fromEntries(Object.entries(errors).map(([key, messages]) => [`settings.${key}`, messages])),
    'PAYMENT_GATEWAY_SETTINGS_INVALID',
  );

/** The settings are valid, but the vendor refused them or did not answer. */
export const gatewayTestFailed = (reason: string) =>
  new ValidationError({ connection: [reason] }, 'PAYMENT_GATEWAY_TEST_FAILED', 'The payment gateway cannot be used.');

export const tooManyGateways = () =>
  new ValidationError({ name: [`There may not be more than ${GATEWAYS_MAX} payment gateways.`] }, 'TOO_MANY_GATEWAYS');

export const offlineStays = () =>
  new WrongStateError(
    'PAYMENT_GATEWAY_OFFLINE',
    'This is the only offline gateway, which payments recorded by hand need: make it inactive instead.',
  );

export const gatewayInUse = (payments: number) =>
  new WrongStateError(
    'PAYMENT_GATEWAY_IN_USE',
    `${payments === 1 ? 'A payment' : `${payments} payments`} of this gateway ${payments === 1 ? 'is' : 'are'} under way at its vendor: money may be moving. Make it inactive, so that nothing more begins, and delete it when they have ended: a card takes minutes, a bank debit days.`,
  );

export const gatewayKeepsSubscriptions = (count: number) =>
  new WrongStateError(
    'PAYMENT_GATEWAY_IN_USE',
    `Its vendor keeps ${count === 1 ? 'a subscription' : `${count} subscriptions`} and would go on to charge for ${count === 1 ? 'it' : 'them'}. End ${count === 1 ? 'it' : 'them'} first; an inactive gateway gets no new ones.`,
  );

export const gatewayBeingDeleted = () =>
  new WrongStateError(
    'PAYMENT_GATEWAY_DELETING',
    'This payment gateway is being deleted: what it has at its vendor is closed. Set up another one.',
  );

/** The gateway cannot pay this invoice now; `reason` says why. */
export const gatewayNotOffered = (reason: string) =>
  new ValidationError({ gatewayUid: [reason] }, 'PAYMENT_GATEWAY_NOT_OFFERED');
