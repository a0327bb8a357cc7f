/** The errors when a customer's plan forbids something, with stable codes. */
import { countOf, type CountedNoun } from '../../../lib/counted-noun.ts';
import { ForbiddenError, ValidationError, WrongStateError } from '../../../lib/errors.ts';
import type { AllowanceSource } from './allowance.ts';

/** Decision D55: why a customer without a running subscription cannot do this. */
export function withoutRunningPlan(source: AllowanceSource): WrongStateError {
  if (source === 'pending') return subscriptionPending();
  return source === 'none' ? subscriptionRequired() : subscriptionEnded();
}

function subscriptionPending(): WrongStateError {
  return new WrongStateError(
    'SUBSCRIPTION_PENDING',
    'The first invoice of the subscription is not paid yet: lists, subscribers and campaigns can be prepared, but no mail is sent until it is paid.',
  );
}

function subscriptionRequired(): WrongStateError {
  return new WrongStateError(
    'SUBSCRIPTION_REQUIRED',
    'There is no subscription yet: nothing can be made or sent until a plan is chosen or assigned.',
  );
}

/** Decision record 0050: reading and deleting are still possible, nothing new is created or sent. */
export function subscriptionEnded(): WrongStateError {
  return new WrongStateError(
    'SUBSCRIPTION_ENDED',
    'The subscription has ended: nothing new can be made or sent until a plan is assigned. Existing data can still be read, exported and deleted.',
  );
}

interface ReachedLimit {
  readonly max: number;
  readonly noun: CountedNoun;
  /** The input field that the error names. */
  readonly field: string;
}

/** Decision D37: on the field, with the limit in the message. */
export function limitReached({ max, noun, field }: ReachedLimit): ValidationError {
  return new ValidationError(
    { [field]: [`The plan allows at most ${countOf(max, noun)}: this limit is reached.`] },
    'PLAN_LIMIT_REACHED',
  );
}

/** The plan's option is `no`; `what` ends the sentence "The plan does not include ...". */
export function notIncluded(what: string): ForbiddenError {
  return new ForbiddenError('PLAN_DOES_NOT_INCLUDE', `The plan does not include ${what}.`);
}

/** One file is larger than the plan allows. */
export function fileTooLarge(field: string, megabytes: number): ValidationError {
  return new ValidationError({ [field]: [`The plan allows files of at most ${megabytes} MB.`] }, 'PLAN_FILE_TOO_LARGE');
}

/** All files together would exceed the plan's space. */
export function uploadsFull(field: string, megabytes: number): ValidationError {
  return new ValidationError(
    { [field]: [`The plan allows uploaded files of ${megabytes} MB altogether: this file is too large for the rest.`] },
    'PLAN_LIMIT_REACHED',
  );
}
