/** The errors of verifications, by code. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';
import type { VerificationStatus } from './verification-fields.ts';

const NO_RUN = ['VERIFICATION_NOT_FOUND', 'No verification has this uid.'] as const;
export const verificationNotFound = () => new NotFoundError(...NO_RUN);
export const foreignVerification = () => new ForeignResourceError(...NO_RUN);

export const noUsableServer = (isNamed: boolean) =>
  new ValidationError(
    {
      verificationServer: [
        isNamed
          ? 'You cannot use this verification server: it does not exist, is inactive, or your plan does not give it.'
          : 'There is no verification server that you may use: create one, or ask the operator for one.',
      ],
    },
    'NO_VERIFICATION_SERVER',
  );

export const listBeingVerified = () =>
  new WrongStateError(
    'LIST_BEING_VERIFIED',
    'A verification of this list is not finished. Wait until it is done, or cancel it, and try again.',
  );

export const verificationOver = (status: VerificationStatus) =>
  new WrongStateError('VERIFICATION_OVER', `The verification is ${status} already.`);

export const verificationNotPaused = (status: VerificationStatus) =>
  new WrongStateError('VERIFICATION_NOT_PAUSED', `Only a paused verification can be resumed; this one is ${status}.`);

/** The run cannot go on now: it pauses with this sentence. */
export class CannotVerify extends Error {
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: string, retryAfterSeconds?: number) {
    super(reason);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
