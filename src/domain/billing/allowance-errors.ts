/** What a customer hears when its plan says no, with stable codes. */
import { ForbiddenError, ValidationError, WrongStateError } from '../../lib/errors.ts';

/** Decision record 0050: reading and deleting go on, nothing new is made or sent. */
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
  /** The field of the input that fits. */
  readonly field: string;
}

/** Decision D37: on the field, with the limit in the message. */
export function limitReached({ max, noun, field }: ReachedLimit): ValidationError {
  return new ValidationError(
    { [field]: [`The plan allows at most ${max} ${noun}: this limit is reached.`] },
    'PLAN_LIMIT_REACHED',
  );
}

/** The plan says `no`; `what` ends the sentence "The plan does not include ...". */
export function notIncluded(what: string): ForbiddenError {
  return new ForbiddenError('PLAN_DOES_NOT_INCLUDE', `The plan does not include ${what}.`);
}

/** One file is larger than the plan lets files be. */
export function fileTooLarge(field: string, megabytes: number): ValidationError {
  return new ValidationError({ [field]: [`The plan allows files of at most ${megabytes} MB.`] }, 'PLAN_FILE_TOO_LARGE');
}

/** All files together would be more than the plan has space for. */
export function uploadsFull(field: string, megabytes: number): ValidationError {
  return new ValidationError(
    { [field]: [`The plan allows uploaded files of ${megabytes} MB altogether: this file is too large for the rest.`] },
    'PLAN_LIMIT_REACHED',
  );
}
