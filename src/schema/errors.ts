/** The expected errors as GraphQL types: members of every result union, with a stable `code`. */
import { isFlowFaults } from '../domain/automations/automation-errors.ts';
import {
  type ExpectedError,
  ForbiddenError,
  NotFoundError,
  RateLimitedError,
  UnauthenticatedError,
  ValidationError,
  WrongStateError,
} from '../lib/errors.ts';
import { FlowFault } from './automations/flow-fault.ts';
import { builder } from './builder.ts';

const ErrorInterface = builder.interfaceRef<ExpectedError>('Error').implement({
  description: 'An expected error.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'For people. May change.' }),
    code: t.exposeString('code', { description: 'For programs. Stable.' }),
  }),
});

const FieldError = builder.simpleObject('FieldError', {
  fields: (t) => ({
    field: t.string({ description: 'The field’s name as in the input: `name`, `contact.email`.' }),
    messages: t.stringList(),
  }),
});

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input is not valid; nothing was changed.',
  interfaces: [ErrorInterface],
  fields: (t) => ({
    fields: t.field({
      type: [FieldError],
      resolve: (error) => Object.entries(error.fields).map(([field, messages]) => ({ field, messages: [...messages] })),
    }),
    faults: t.field({
      type: [FlowFault],
      description: 'Of a flow that cannot be published (`FLOW_HAS_FAULTS`): each with its place. Otherwise empty.',
      resolve: (error) => (isFlowFaults(error) ? [...error.faults] : []),
    }),
  }),
});

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  description: 'The caller has no object with this uid.',
  interfaces: [ErrorInterface],
});

builder.objectType(ForbiddenError, {
  name: 'ForbiddenError',
  description: 'The caller is not allowed to do this.',
  interfaces: [ErrorInterface],
});

builder.objectType(UnauthenticatedError, {
  name: 'UnauthenticatedError',
  description: 'There are no valid credentials.',
  interfaces: [ErrorInterface],
});

builder.objectType(WrongStateError, {
  name: 'WrongStateError',
  description: 'The object is in a state that does not allow this.',
  interfaces: [ErrorInterface],
});

builder.objectType(RateLimitedError, {
  name: 'RateLimitedError',
  description: 'Too many tries.',
  interfaces: [ErrorInterface],
  fields: (t) => ({ retryAfterSeconds: t.exposeInt('retryAfterSeconds') }),
});
