/** The expected errors that every result union has as members, by the names of their classes. */
import {
  ForbiddenError,
  NotFoundError,
  RateLimitedError,
  UnauthenticatedError,
  ValidationError,
  WrongStateError,
} from '../lib/errors.ts';

export const RESULT_ERRORS = [
  ...[ValidationError, NotFoundError, ForbiddenError],
  ...[UnauthenticatedError, WrongStateError, RateLimitedError],
];
