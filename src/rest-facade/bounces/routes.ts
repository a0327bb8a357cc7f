/** Bounce handlers and the bounce policy: extensions of the specification. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentHandler, presentPolicy } from './present.ts';
import {
  handlerActionShape,
  handlerDeletedShape,
  handlerShape,
  handlerTestedShape,
  oneHandlerShape,
  onePolicyShape,
  policyActionShape,
} from './shapes.ts';

export const bounceRows = [
  endpoint({
    method: 'GET',
    path: '/bounce_handlers',
    access: 'token',
    summary: 'Lists the mailboxes that bounces and complaints come to.',
    answers: answersPage(handlerShape),
    operation: 'BounceHandlers',
    variables: pageArguments,
    present: ({ bounceHandlersPage }) => page(bounceHandlersPage, presentHandler),
  }),
  endpoint({
    method: 'POST',
    path: '/bounce_handlers',
    access: 'token',
    summary: 'Opens a bounce mailbox, and stores its settings if that works.',
    answers: answersCreated(handlerActionShape),
    required: ['name', 'host', 'username', 'password'],
    operation: 'CreateBounceHandler',
    variables: (input) => ({
      input: {
        ...place(input),
        name: input.text('name') ?? '',
        host: input.text('host') ?? '',
        username: input.text('username') ?? '',
        password: input.text('password') ?? '',
      },
    }),
    fieldName,
    present: ({ createBounceHandler: handler }) =>
      created('Bounce handler was successfully created', {
        bounce_handler_uid: handler.uid,
        bounce_handler: presentHandler(handler),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/bounce_handlers/:uid',
    access: 'token',
    summary: 'Shows one bounce handler, without its password.',
    answers: answersBody(oneHandlerShape),
    operation: 'BounceHandler',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ bounceHandler }) => ok({ bounce_handler: presentHandler(bounceHandler) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/bounce_handlers/:uid',
    access: 'token',
    summary: 'Changes a bounce handler; a changed mailbox is opened first.',
    answers: answersBody(handlerActionShape),
    operation: 'UpdateBounceHandler',
    variables: (input) => ({
      input: {
        ...place(input),
        uid: input.param('uid'),
        name: input.text('name'),
        host: input.text('host'),
        username: input.text('username'),
        password: input.text('password'),
        status: input.text('status'),
      },
    }),
    fieldName,
    present: ({ updateBounceHandler: handler }) =>
      done('Bounce handler was successfully updated', {
        bounce_handler_uid: handler.uid,
        bounce_handler: presentHandler(handler),
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/bounce_handlers/:uid',
    access: 'token',
    summary: 'Deletes a bounce handler; its mailbox does not change.',
    answers: answersBody(handlerDeletedShape),
    operation: 'DeleteBounceHandler',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteBounceHandler: { uid } }) => done('Deleted', { bounce_handler_uid: uid }),
  }),
  endpoint({
    method: 'POST',
    path: '/bounce_handlers/:uid/test',
    access: 'token',
    summary: 'Opens a bounce mailbox with the stored settings, and changes nothing.',
    answers: answersBody(handlerTestedShape),
    operation: 'TestBounceHandler',
    variables: (input) => ({ uid: input.param('uid') }),
    fieldName,
    present: ({ testBounceHandler: { uid, messageCount } }) =>
      done('The mailbox was opened', { bounce_handler_uid: uid, message_count: messageCount }),
  }),
  endpoint({
    method: 'GET',
    path: '/bounce_policy',
    access: 'token',
    summary: 'Shows how many soft bounces suppress an address.',
    answers: answersBody(onePolicyShape),
    operation: 'BouncePolicy',
    variables: () => ({}),
    present: ({ bouncePolicy }) => ok({ bounce_policy: presentPolicy(bouncePolicy) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/bounce_policy',
    access: 'token',
    summary: 'Changes how many soft bounces suppress an address.',
    answers: answersBody(policyActionShape),
    operation: 'UpdateBouncePolicy',
    variables: (input) => ({
      input: {
        softBounceLimit: integerOrNull(input, 'soft_bounce_limit'),
        softBounceDays: integerOrNull(input, 'soft_bounce_days'),
      },
    }),
    present: ({ updateBouncePolicy }) =>
      done('The bounce policy was changed', { bounce_policy: presentPolicy(updateBouncePolicy) }),
  }),
];

function place(input: Input) {
  return {
    protocol: input.text('protocol'),
    port: input.integer('port'),
    encryption: input.text('encryption'),
    folder: input.text('folder'),
    keepsReports: input.flag('keep_reports'),
  };
}

/** An empty value resets to the installation's default. */
function integerOrNull(input: Input, name: string): number | null | undefined {
  return input.nullableText(name) === null ? null : input.integer(name);
}

/** The connection is no field of the input. */
function fieldName(path: string): string | undefined {
  if (path === 'connection') return path;
  return path === 'keepsReports' ? 'keep_reports' : undefined;
}
