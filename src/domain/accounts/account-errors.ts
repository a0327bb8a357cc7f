/** The errors of accounts, by code. Entry points translate the class; clients may rely on the code. */
import {
  ForbiddenError,
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  UnauthenticatedError,
  ValidationError,
  WrongStateError,
} from '../../lib/errors.ts';

/** The same for an unknown address and for a wrong password: users cannot be enumerated. */
export const wrongCredentials = () =>
  new UnauthenticatedError('These credentials do not match our records.', 'WRONG_CREDENTIALS');

/** The password was right; there is no token without the code. */
export const codeRequired = () =>
  new UnauthenticatedError('Enter the code that your authenticator app shows.', 'TWO_FACTOR_CODE_REQUIRED');
export const wrongCode = () =>
  new UnauthenticatedError('This code is wrong, or was used before.', 'TWO_FACTOR_CODE_WRONG');

export const accountDisabled = () => new ForbiddenError('ACCOUNT_DISABLED', 'This account is disabled.');

export const tooManyLogins = (retryAfterSeconds: number) =>
  new RateLimitedError('LOGIN_RATE_LIMITED', 'Too many failed logins. Please try again later.', retryAfterSeconds);

export const scopeNotHeld = () =>
  new ForbiddenError('SCOPE_NOT_HELD', 'A token can create or rotate only tokens whose scopes it holds itself.');

const NO_TOKEN = ['API_TOKEN_NOT_FOUND', 'No API token has this uid.'] as const;
export const apiTokenNotFound = () => new NotFoundError(...NO_TOKEN);
export const foreignApiToken = () => new ForeignResourceError(...NO_TOKEN);

export const customerNotFound = () => new NotFoundError('CUSTOMER_NOT_FOUND', 'No customer has this uid.');
export const noCustomerWithEmail = () => new NotFoundError('CUSTOMER_NOT_FOUND', 'No customer has this address.');
export const userNotFound = () => new NotFoundError('USER_NOT_FOUND', 'No user has this uid.');

export const emailTaken = () => new ValidationError({ email: ['The email has already been taken.'] });

/** Without it nobody could administer the installation. */
export const operatorStays = () =>
  new WrongStateError('CUSTOMER_IS_OPERATOR', "The operator's account cannot be disabled or deleted.");
export const notYourself = () =>
  new WrongStateError(
    'CUSTOMER_IS_YOURS',
    'You cannot do this to your own account: another administrator has to do it.',
  );

/** Changes of administrators need a token with all scopes. */
export const needsFullToken = () =>
  new ForbiddenError('FULL_TOKEN_NEEDED', 'Changing an administrator needs a token with every scope.');
export const loginTooOld = (minutes: number) =>
  new ForbiddenError(
    'LOGIN_TOO_OLD',
    `This needs a login of the last ${minutes} minutes. Log in again with your password, then repeat it.`,
  );
export const notALogin = () => new WrongStateError('NOT_A_LOGIN', 'An API token cannot log out: revoke it instead.');

export const linksForOthers = () =>
  new ForbiddenError('NOT_AN_ADMINISTRATOR', 'Only an administrator makes links for others.');

export const lastAdministrator = () =>
  new WrongStateError('LAST_ADMINISTRATOR', "The operator's account must keep one administrator.");
