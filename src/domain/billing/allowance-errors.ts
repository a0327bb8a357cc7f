/** The errors when a customer's plan forbids something, with stable codes. */
import { ForbiddenError, ValidationError, WrongStateError } from '../../lib/errors.ts';

/** Decision record 0050: reading and deleting are still possible, nothing new is created or sent. */
export function subscriptionEnded(): WrongStateError {
  return new WrongStateError(
    'SUBSCRIPTION_ENDED',
    'The subscription has ended: nothing new can be made or sent until a plan is assigned. Existing data can still be read, exported and deleted.',
  );
}

interface ReachedLimit {
  readonly max: number;
  /** What is counted, in the plural: `lists`. */
  readonly noun: string;
  /** The input field that the error names. */
  readonly field: string;
}

/** Decision D37: on the field, with the limit in the message. */
export function limitReached({ max, noun, field }: ReachedLimit): ValidationError {
  return new ValidationError(
    { [field]: [`The plan allows at most ${max} ${noun}: this limit is reached.`] },
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
