/** Email verification servers, in the form of sending servers (4.6). Extensions of the specification. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentVerificationServer, presentVerificationServerRow } from './present-server.ts';
import {
  oneVerificationServerShape,
  verificationServerActionShape,
  verificationServerDeletedShape,
  verificationServerRowShape,
  verificationServerTestedShape,
} from './server-shapes.ts';

export const verificationServerRows = [
  endpoint({
    method: 'GET',
    path: '/email_verification_servers',
    access: 'token',
    summary: 'Lists the email verification servers.',
    answers: answersPage(verificationServerRowShape),
    operation: 'EmailVerificationServers',
    variables: pageArguments,
    present: ({ emailVerificationServersPage }) => page(emailVerificationServersPage, presentVerificationServerRow),
  }),
  endpoint({
    method: 'POST',
    path: '/email_verification_servers',
    access: 'token',
    summary: 'Tests the settings of an email verification server and stores it.',
    answers: answersCreated(verificationServerActionShape),
    required: ['name', 'type'],
    operation: 'CreateEmailVerificationServer',
    variables: (input) => ({
      input: {
        name: input.text('name') ?? '',
        type: input.text('type') ?? '',
        settings: settings(input) ?? {},
        perMinuteMax: perMinuteMax(input),
      },
    }),
    fieldName,
    present: ({ createEmailVerificationServer: server }) =>
      created('Email verification server was successfully created', {
        email_verification_server_uid: server.uid,
        email_verification_server: presentVerificationServer(server),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/email_verification_servers/:uid',
    access: 'token',
    summary: 'Shows one email verification server, without its credentials.',
    answers: answersBody(oneVerificationServerShape),
    operation: 'EmailVerificationServer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ emailVerificationServer }) =>
      ok({ email_verification_server: presentVerificationServer(emailVerificationServer) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/email_verification_servers/:uid',
    access: 'token',
    summary: 'Changes an email verification server; changed settings are tested first.',
    answers: answersBody(verificationServerActionShape),
    operation: 'UpdateEmailVerificationServer',
    variables: (input) => ({
      input: {
        uid: input.param('uid'),
        name: input.text('name'),
        type: input.text('type'),
        settings: settings(input),
        perMinuteMax: perMinuteMax(input),
        status: input.text('status'),
      },
    }),
    fieldName,
    present: ({ updateEmailVerificationServer: server }) =>
      done('Email verification server was successfully updated', {
        email_verification_server_uid: server.uid,
        email_verification_server: presentVerificationServer(server),
      }),
  }),
  endpoint({
    method: 'POST',
    path: '/email_verification_servers/:uid/test',
    actsOutside: true,
    access: 'token',
    summary: 'Tests a stored email verification server, without verifying an address.',
    details: 'A failed test is answered with 200 and `passed: false`. At most 60 tests in an hour.',
    answers: answersBody(verificationServerTestedShape),
    operation: 'TestEmailVerificationServer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ testEmailVerificationServer: { uid, isPassed, fault } }) =>
      done(isPassed ? 'The test was successful' : 'The test failed', {
        email_verification_server_uid: uid,
        test: { passed: isPassed, fault: fault ?? null },
      }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/email_verification_servers/:uid',
    access: 'token',
    summary: 'Deletes an email verification server that no unfinished verification uses.',
    answers: answersBody(verificationServerDeletedShape),
    operation: 'DeleteEmailVerificationServer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteEmailVerificationServer: { uid } }) => done('Deleted', { email_verification_server_uid: uid }),
  }),
];

/** Null or an empty text clears. */
function perMinuteMax(input: Input): number | null | undefined {
  return input.integer('per_minute_max') ?? (input.has('per_minute_max') ? null : undefined);
}

function settings(input: Input): Record<string, unknown> | undefined {
  const given = input.plainObject('settings');
  return given && { ...given };
}

/** Settings keep the names that their verifier gave them. */
function fieldName(path: string): string | undefined {
  return path.startsWith('settings.') || path === 'connection' ? path : undefined;
}
