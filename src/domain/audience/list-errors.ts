/** The errors of lists and their fields, by code. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';
import { firstNamed, usedByFlows, type FlowUse } from '../flow-uses/flow-use.ts';

const NO_LIST = ['LIST_NOT_FOUND', 'No list has this uid.'] as const;
export const listNotFound = () => new NotFoundError(...NO_LIST);
export const foreignList = () => new ForeignResourceError(...NO_LIST);

export const listInUse = (campaigns: readonly string[]) =>
  new WrongStateError('LIST_IN_USE', `The list cannot be deleted while a campaign uses it: ${campaigns.join(', ')}.`);

/** Flows of other lists that bring people to it (D86). */
export const flowsBringPeople = (uses: readonly FlowUse[]) =>
  new WrongStateError('LIST_IN_USE', usedByFlows('list', uses));

export const listHasActiveFlows = (automations: readonly string[]) =>
  new WrongStateError(
    'LIST_IN_USE',
    `The list cannot be deleted while automations on it are active: ${firstNamed(automations).join(', ')}. Pause them first; they are deleted with the list.`,
  );

export const tagTaken = (tag: string) =>
  new ValidationError({ tag: [`The tag ${tag} has already been taken.`] }, 'FIELD_TAG_TAKEN');

export const tagBeingRemoved = (tag: string) =>
  new ValidationError(
    { tag: [`The values of the removed field ${tag} are still being removed. Try again in some minutes.`] },
    'FIELD_BEING_REMOVED',
  );

const NO_FIELD = ['FIELD_NOT_FOUND', 'The list has no such field.'] as const;
export const fieldNotFound = () => new NotFoundError(...NO_FIELD);
export const foreignField = () => new ForeignResourceError(...NO_FIELD);

export const builtInField = () =>
  new ValidationError({ field: ['EMAIL is built in: it cannot be changed or removed.'] }, 'FIELD_BUILT_IN');

export const fieldInUse = (tag: string, act: 'removed' | 'changed so', users: readonly string[]) =>
  new WrongStateError('FIELD_IN_USE', `The field ${tag} cannot be ${act}, because it is used by: ${users.join(', ')}.`);

export const listImporting = () =>
  new WrongStateError(
    'LIST_IMPORTING',
    'An import into the list is under way. Wait until it is done, or cancel it, and try again.',
  );

export const fieldChanged = () =>
  new WrongStateError(
    'FIELD_CHANGED',
    'Somebody else has just changed this field. Read it again and repeat your change.',
  );

export const tooManyFields = (max: number) =>
  new ValidationError({ tag: [`A list may not have more than ${max} fields.`] }, 'TOO_MANY_FIELDS');
