/** Sending servers (specification 4.6; decisions D29, D30). */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { clearableMap } from '../sending-routes.ts';
import { presentServer, presentServerRow } from './present.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { oneServerShape, serverActionShape, serverDeletedShape, serverRowShape, serverTestedShape } from './shapes.ts';

export const sendingServerRows = [
  endpoint({
    method: 'GET',
    path: '/sending_servers',
    access: 'token',
    summary: 'Lists the sending servers.',
    answers: answersPage(serverRowShape),
    operation: 'SendingServers',
    variables: pageArguments,
    present: ({ sendingServersPage }) => page(sendingServersPage, presentServerRow),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_servers',
    access: 'token',
    summary: 'Tries the settings of a sending server and stores it.',
    answers: answersCreated(serverActionShape),
    required: ['name', 'type', 'settings'],
    operation: 'CreateSendingServer',
    variables: (input) => ({
      input: {
        ...fields(input),
        name: input.text('name') ?? '',
        type: input.text('type') ?? '',
        settings: settings(input) ?? {},
      },
    }),
    fieldName,
    present: ({ createSendingServer: server }) =>
      created('Sending server was successfully created', {
        sending_server_uid: server.uid,
        sending_server: presentServer(server),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/sending_servers/:uid',
    access: 'token',
    summary: 'Shows one sending server, without its credentials.',
    answers: answersBody(oneServerShape),
    operation: 'SendingServer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ sendingServer }) => ok({ sending_server: presentServer(sendingServer) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/sending_servers/:uid',
    access: 'token',
    summary: 'Changes a sending server; changed settings are tried first.',
    answers: answersBody(serverActionShape),
    operation: 'UpdateSendingServer',
    variables: (input) => ({
      input: {
        ...fields(input),
        uid: input.param('uid'),
        name: input.text('name'),
        type: input.text('type'),
        settings: settings(input),
        status: input.text('status'),
      },
    }),
    fieldName,
    present: ({ updateSendingServer: server }) =>
      done('Sending server was successfully updated', {
        sending_server_uid: server.uid,
        sending_server: presentServer(server),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_servers/:uid/reset_health',
    access: 'token',
    summary: 'Tries a repaired server at once.',
    details: 'Its pause and the pauses of the providers behind it end, and a stopped warm-up continues.',
    answers: answersBody(serverActionShape),
    operation: 'ResetSendingServerHealth',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ resetSendingServerHealth: server }) =>
      done('Sending server was successfully reset', {
        sending_server_uid: server.uid,
        sending_server: presentServer(server),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/sending_servers/:uid/test',
    actsOutside: true,
    access: 'token',
    summary: 'Tests a stored sending server; with `to` it sends one message through it.',
    details:
      'A failed test is answered with 200 and `accepted: false`, with the reply of the server and what to do. At most 60 tests in an hour, and 20 mails to an address in a day.',
    answers: answersBody(serverTestedShape),
    operation: 'TestSendingServer',
    variables: (input) => ({ input: { uid: input.param('uid'), to: input.nullableText('to') } }),
    fieldName,
    present: ({ testSendingServer: { uid, isAccepted, reply, advice, durationMs } }) =>
      done(isAccepted ? 'The test was successful' : 'The test failed', {
        sending_server_uid: uid,
        test: { accepted: isAccepted, reply, advice, duration_ms: durationMs },
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/sending_servers/:uid',
    access: 'token',
    summary: 'Deletes a sending server that no unfinished campaign needs.',
    answers: answersBody(serverDeletedShape),
    operation: 'DeleteSendingServer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteSendingServer: { uid } }) => done('Deleted', { sending_server_uid: uid }),
  }),
];

function fields(input: Input) {
  return {
    domainLimits: clearableMap(input, 'domain_limits'),
    warmUp: clearableMap(input, 'warm_up'),
    defaultFromEmail: input.text('default_from_email'),
    quotaValue: input.integer('quota_value'),
    quotaBase: input.integer('quota_base'),
    quotaUnit: input.nullableText('quota_unit'),
  };
}

function settings(input: Input): Record<string, unknown> | undefined {
  const given = input.plainObject('settings');
  return given && { ...given };
}

/** Settings keep the names that their driver gave them. */
function fieldName(path: string): string | undefined {
  return path.startsWith('settings.') || path === 'connection' ? path : undefined;
}
