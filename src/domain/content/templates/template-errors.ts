/** The errors of templates, with stable codes. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../../lib/errors.ts';
import { usedByFlows, type FlowUse } from '../../flow-uses/flow-use.ts';
import { TEMPLATES_PER_CUSTOMER_MAX } from './template.ts';

const NO_TEMPLATE = ['TEMPLATE_NOT_FOUND', 'No template has this uid.'] as const;
export const templateNotFound = () => new NotFoundError(...NO_TEMPLATE);
/** With the same text as the error above, so that the template is not revealed. */
export const foreignTemplate = () => new ForeignResourceError(...NO_TEMPLATE);

export const tooManyTemplates = () =>
  new ValidationError(
    { name: [`There may be at most ${TEMPLATES_PER_CUSTOMER_MAX} templates: delete one that you do not use.`] },
    'TOO_MANY_TEMPLATES',
  );

export const templateChanged = (version: number) =>
  new WrongStateError(
    'TEMPLATE_CHANGED',
    `The template was changed since you read it: it has the version ${version} now. Read it again, then change it.`,
  );

export const templateInUse = () =>
  new WrongStateError('TEMPLATE_IN_USE', 'The template cannot be deleted while a mail that waits to be sent uses it.');

export const templateOfFlows = (uses: readonly FlowUse[]) =>
  new WrongStateError('TEMPLATE_IN_USE', usedByFlows('template', uses));
