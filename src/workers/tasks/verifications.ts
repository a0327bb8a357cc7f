/** Verifications: starts that of an import, runs one, and deletes what runs that died have left. */
import { dropEndedClaims } from '../../domain/verification/address-claim-store.ts';
import { runVerification } from '../../domain/verification/run-verification.ts';
import { verifyImported } from '../../domain/verification/start-verification.ts';
import { runVerificationJob, sweepVerificationsJob, verifyImportJob } from '../../jobs/verification-jobs.ts';
import { defineTask } from '../task.ts';

export const verificationTasks = [
  defineTask(runVerificationJob, (ctx, { customerId, verificationId }, { abortSignal, attempt, attemptsMax }) =>
    runVerification(ctx, { customerId, id: verificationId }, { abortSignal, isLastTry: attempt >= attemptsMax }),
  ),
  defineTask(verifyImportJob, (ctx, { customerId, importId }) => verifyImported(ctx, { customerId, id: importId })),
  defineTask(sweepVerificationsJob, async ({ database }) => void (await dropEndedClaims(database))),
];
