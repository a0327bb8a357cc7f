/** The errors of verification servers, by code. */
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
  type FieldErrors,
} from '../../lib/errors.ts';
import { VERIFICATION_SERVERS_PER_CUSTOMER_MAX } from './verification-server.ts';

const NO_SERVER = ['VERIFICATION_SERVER_NOT_FOUND', 'No email verification server has this uid.'] as const;
export const verificationServerNotFound = () => new NotFoundError(...NO_SERVER);
export const foreignVerificationServer = () => new ForeignResourceError(...NO_SERVER);

export const unknownVerifier = (types: readonly string[]) =>
  new ValidationError(
    { type: [`There is no verifier of this type. Installed: ${types.join(', ') || 'none'}.`] },
    'VERIFICATION_SERVER_TYPE_UNKNOWN',
  );

export const verifierTypeFixed = () =>
  new ValidationError(
    { type: ['The type of an email verification server cannot be changed: create another one.'] },
    'VERIFICATION_SERVER_TYPE_FIXED',
  );

/** Of keys such as `settings.api_key`. */
export const wrongVerifierSettings = (fields: FieldErrors) =>
  new ValidationError(fields, 'VERIFICATION_SERVER_SETTINGS_INVALID');

/** The settings are valid, but the verifier could not be used with them. */
export const verifierFailed = (reason: string) =>
  new ValidationError(
    { connection: [reason] },
    'VERIFICATION_SERVER_TEST_FAILED',
    'The test of the email verification server failed.',
  );

export const tooManyVerificationServers = () =>
  new ValidationError(
    {
      name: [`A customer may not have more than ${VERIFICATION_SERVERS_PER_CUSTOMER_MAX} email verification servers.`],
    },
    'TOO_MANY_VERIFICATION_SERVERS',
  );

export const verificationServerInUse = (runs: number) =>
  new WrongStateError(
    'VERIFICATION_SERVER_IN_USE',
    `Verifications that are not finished use this server: ${runs}. Cancel them, wait until they are done, or make the server inactive.`,
  );

export const tooManyVerifierTests = (max: number, waitSeconds: number) =>
  new RateLimitedError(
    'TOO_MANY_TESTS',
    `A customer may test email verification servers ${max} times in an hour.`,
    waitSeconds,
  );
