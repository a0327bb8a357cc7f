/** The errors of accounts, by code. Doors translate the class; clients may rely on the code. */
import {
  ForbiddenError,
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  UnauthenticatedError,
} from '../../lib/errors.ts';

/** Says the same for an unknown address and for a wrong password: users cannot be enumerated. */
export const wrongCredentials = () =>
  new UnauthenticatedError('These credentials do not match our records.', 'WRONG_CREDENTIALS');

/** The password was right; no token is made before the code is. */
export const codeRequired = () =>
  new UnauthenticatedError('Enter the code that your authenticator app shows.', 'TWO_FACTOR_CODE_REQUIRED');
export const wrongCode = () =>
  new UnauthenticatedError('This code is wrong, or was used before.', 'TWO_FACTOR_CODE_WRONG');

export const accountDisabled = () => new ForbiddenError('ACCOUNT_DISABLED', 'This account is disabled.');

export const tooManyLogins = (retryAfterSeconds: number) =>
  new RateLimitedError('LOGIN_RATE_LIMITED', 'Too many failed logins. Please try again later.', retryAfterSeconds);

export const scopeNotHeld = () =>
  new ForbiddenError('SCOPE_NOT_HELD', 'A token cannot hand out a scope that it does not hold itself.');

const NO_TOKEN = ['API_TOKEN_NOT_FOUND', 'No API token has this uid.'] as const;
export const apiTokenNotFound = () => new NotFoundError(...NO_TOKEN);
export const foreignApiToken = () => new ForeignResourceError(...NO_TOKEN);
