/** Verifying the people of a list. Extensions of the specification. */
import type { RestVerificationFragment } from '../../generated/operations.ts';
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { oneVerificationShape, verificationActionShape, verificationShape } from './shapes.ts';

export const verificationRows = [
  endpoint({
    method: 'POST',
    path: '/lists/:list_uid/verify',
    access: 'token',
    summary: 'Starts to verify the addresses of a list.',
    details:
      '`verification_server`: a uid of `GET /usable_verification_servers`; absent: the first of them. `older_than_days`: also people whose result is older, 0 for everybody; absent: only those without a result, or with `unknown`. `undeliverable`: `suppress` puts the addresses that it finds undeliverable on the suppression list; `keep`, which is the default, only stores the result. Unsubscribed people are left out.',
    answers: answersCreated(verificationActionShape),
    operation: 'VerifyList',
    variables: (input) => ({
      input: {
        listUid: input.param('list_uid'),
        verificationServer: input.nullableText('verification_server'),
        olderThanDays: input.integer('older_than_days'),
        undeliverable: input.choice('undeliverable', ['keep', 'suppress']),
      },
    }),
    present: ({ verifyList: run }) =>
      created('The verification has begun', { verification_uid: run.uid, verification: presentVerification(run) }),
  }),
  endpoint({
    method: 'GET',
    path: '/verifications',
    access: 'token',
    summary: 'Lists the verifications, the newest first.',
    answers: answersPage(verificationShape),
    operation: 'Verifications',
    variables: pageArguments,
    present: ({ verificationsPage }) => page(verificationsPage, presentVerification),
  }),
  endpoint({
    method: 'GET',
    path: '/verifications/:uid',
    access: 'token',
    summary: 'Shows how far a verification is.',
    answers: answersBody(oneVerificationShape),
    operation: 'Verification',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ verification }) => ok({ verification: presentVerification(verification) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/verifications/:uid',
    access: 'token',
    summary: 'Cancels a verification; results that people have stay.',
    answers: answersBody(verificationActionShape),
    operation: 'CancelVerification',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ cancelVerification: run }) =>
      done('The verification was cancelled', { verification_uid: run.uid, verification: presentVerification(run) }),
  }),
  endpoint({
    method: 'POST',
    path: '/verifications/:uid/resume',
    access: 'token',
    summary: 'Continues a paused verification now.',
    answers: answersBody(verificationActionShape),
    operation: 'ResumeVerification',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ resumeVerification: run }) =>
      done('The verification continues', { verification_uid: run.uid, verification: presentVerification(run) }),
  }),
];

function presentVerification(run: RestVerificationFragment) {
  return {
    uid: run.uid,
    list_uid: run.list.uid,
    import_uid: run.importUid ?? null,
    verification_server: { uid: run.serverUid, name: run.serverName },
    older_than_days: run.olderThanDays ?? null,
    suppresses: run.suppresses,
    status: run.status,
    total: run.total ?? null,
    processed: run.processed,
    deliverable: run.deliverable,
    undeliverable: run.undeliverable,
    risky: run.risky,
    unknown: run.unknown,
    reused: run.reused,
    suppressed: run.suppressed,
    reason: run.reason ?? null,
    retry_at: restTime(run.retryAt),
    created_at: restTime(run.createdAt),
    started_at: restTime(run.startedAt),
    finished_at: restTime(run.finishedAt),
  };
}
