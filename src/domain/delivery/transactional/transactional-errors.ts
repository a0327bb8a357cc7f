/** The errors of transactional mails, with stable codes. */
import { NotFoundError, RateLimitedError, WrongStateError } from '../../../lib/errors.ts';
import { KEPT_BYTES_MAX, WAITING_MAX } from './transactional.ts';

export const mailNotFound = () =>
  new NotFoundError('TRANSACTIONAL_NOT_FOUND', 'There is no transactional mail with this uid.');

const NEXT_TRY_SECONDS = 2;
export const tooManyCalls = () =>
  new RateLimitedError(
    'TOO_MANY_CALLS',
    `Too many mails are being accepted at this moment, and this one was not. Send it again after ${NEXT_TRY_SECONDS} seconds, and fewer at a time.`,
    NEXT_TRY_SECONDS,
  );

const RETRY_SECONDS = 60;
export const tooManyWait = () =>
  new RateLimitedError(
    'TOO_MANY_WAITING',
    `${WAITING_MAX} mails wait to be sent already. Look at your sending servers, and try again later.`,
    RETRY_SECONDS,
  );

const DISK_RETRY_SECONDS = 3_600;
export const tooMuchKept = (days: number) =>
  new RateLimitedError(
    'TOO_MANY_ATTACHMENTS',
    `Attachments are kept for ${days} days, and yours have ${KEPT_BYTES_MAX / 1_073_741_824} GB already. ` +
      'Upload files that many mails share and give their uids, send links, or try again later.',
    DISK_RETRY_SECONDS,
  );

export const notWaiting = (state: string) =>
  new WrongStateError(
    'TRANSACTIONAL_NOT_WAITING',
    `The mail cannot be cancelled any more: it is ${state}. Only a mail that waits for its time can be.`,
  );

export const stillOpen = (state: string) =>
  new WrongStateError('TRANSACTIONAL_OPEN', `The mail is ${state}: it can be sent again when its outcome is known.`);

export const contentErased = (days: number) =>
  new WrongStateError('CONTENT_ERASED', `What the mail said was erased: it is kept for ${days} days. Send a new one.`);

export const templateDeleted = () =>
  new WrongStateError(
    'TEMPLATE_DELETED',
    'The template of the mail was deleted, so it cannot be sent again. Send a new one.',
  );
