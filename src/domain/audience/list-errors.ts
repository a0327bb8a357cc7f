/** The errors of lists and their fields, by code. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';

const NO_LIST = ['LIST_NOT_FOUND', 'No list has this uid.'] as const;
export const listNotFound = () => new NotFoundError(...NO_LIST);
export const foreignList = () => new ForeignResourceError(...NO_LIST);

export const listInUse = (campaigns: readonly string[]) =>
  new WrongStateError('LIST_IN_USE', `The list cannot be deleted while a campaign uses it: ${campaigns.join(', ')}.`);

export const tagTaken = (tag: string) =>
  new ValidationError({ tag: [`The tag ${tag} has already been taken.`] }, 'FIELD_TAG_TAKEN');

export const tooManyFields = (max: number) =>
  new ValidationError({ tag: [`A list may not have more than ${max} fields.`] }, 'TOO_MANY_FIELDS');
