/** The errors of bounce handlers, by code. */
import { ForeignResourceError, NotFoundError, ValidationError } from '../../lib/errors.ts';
import { HANDLERS_PER_CUSTOMER_MAX } from './bounce-handler.ts';

const NO_HANDLER = ['BOUNCE_HANDLER_NOT_FOUND', 'No bounce handler has this uid.'] as const;
export const handlerNotFound = () => new NotFoundError(...NO_HANDLER);
/** Another customer's: with the same text, so that GraphQL does not say that it exists (see `ForeignResourceError`). */
export const foreignHandler = () => new ForeignResourceError(...NO_HANDLER);

export const tooManyHandlers = () =>
  new ValidationError(
    { name: [`A customer may not have more than ${HANDLERS_PER_CUSTOMER_MAX} bounce handlers.`] },
    'TOO_MANY_BOUNCE_HANDLERS',
  );

export const hostNotAllowed = (reason: string) =>
  new ValidationError({ host: [reason] }, 'BOUNCE_HANDLER_HOST_REFUSED');

/** A stored password is sent only to the host it was given for. */
export const passwordNeeded = () =>
  new ValidationError(
    { password: ['The password field is required when the host, the port or the encryption changes.'] },
    'BOUNCE_HANDLER_PASSWORD_NEEDED',
  );

/** The settings are valid, but the mailbox could not be opened with them. */
export const mailboxFailed = (reason: string) =>
  new ValidationError(
    { connection: [reason] },
    'BOUNCE_HANDLER_CONNECTION_FAILED',
    'The connection to the mailbox failed.',
  );
