/** The expected errors as GraphQL types: members of every result union, with a stable `code`. */
import {
  type ExpectedError,
  ForbiddenError,
  NotFoundError,
  RateLimitedError,
  UnauthenticatedError,
  ValidationError,
  WrongStateError,
} from '../lib/errors.ts';
import { builder } from './builder.ts';

const ErrorInterface = builder.interfaceRef<ExpectedError>('Error').implement({
  description: 'Something that can go wrong without anybody being at fault.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'For people. May change.' }),
    code: t.exposeString('code', { description: 'For programs. Stable.' }),
  }),
});

const FieldError = builder.simpleObject('FieldError', {
  fields: (t) => ({
    field: t.string({ description: 'As the caller spelled it: `name`, `contact.email`.' }),
    messages: t.stringList(),
  }),
});

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input cannot be taken; nothing was changed.',
  interfaces: [ErrorInterface],
  fields: (t) => ({
    fields: t.field({
      type: [FieldError],
      resolve: (error) => Object.entries(error.fields).map(([field, messages]) => ({ field, messages: [...messages] })),
    }),
  }),
});

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  description: 'The caller has no such thing.',
  interfaces: [ErrorInterface],
});

builder.objectType(ForbiddenError, {
  name: 'ForbiddenError',
  description: 'The caller is known and may not do this.',
  interfaces: [ErrorInterface],
});

builder.objectType(UnauthenticatedError, {
  name: 'UnauthenticatedError',
  description: 'There are no valid credentials.',
  interfaces: [ErrorInterface],
});

builder.objectType(WrongStateError, {
  name: 'WrongStateError',
  description: 'It is in a state that does not allow this.',
  interfaces: [ErrorInterface],
});

builder.objectType(RateLimitedError, {
  name: 'RateLimitedError',
  description: 'Too many tries.',
  interfaces: [ErrorInterface],
  fields: (t) => ({ retryAfterSeconds: t.exposeInt('retryAfterSeconds') }),
});
