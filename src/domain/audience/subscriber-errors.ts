/** The errors of subscribers, by code. Field names are the tags: the address is the field EMAIL. */
import { ForeignResourceError, NotFoundError, ValidationError, type FieldErrors } from '../../lib/errors.ts';

const NO_SUBSCRIBER = ['SUBSCRIBER_NOT_FOUND', 'There is no such subscriber.'] as const;
export const subscriberNotFound = () => new NotFoundError(...NO_SUBSCRIBER);
export const foreignSubscriber = () => new ForeignResourceError(...NO_SUBSCRIBER);

export const emailTaken = () => new ValidationError({ EMAIL: ['The email has already been taken.'] }, 'EMAIL_TAKEN');

export const emailSuppressed = () =>
  new ValidationError(
    { EMAIL: ['This email address is suppressed (it bounced, complained or was blocked) and gets no mail.'] },
    'EMAIL_SUPPRESSED',
  );

export const listFull = () =>
  new ValidationError({ EMAIL: ['This list accepts no new subscribers at present.'] }, 'LIST_FULL');

export const severalLists = () =>
  new ValidationError({ listUid: ['This address is on several lists: name the list.'] }, 'LIST_REQUIRED');

export const tooManyTags = (max: number) =>
  new ValidationError({ tags: [`A subscriber may not have more than ${max} tags.`] }, 'TOO_MANY_TAGS');

export const wrongFields = (fields: FieldErrors) => new ValidationError(fields);
