/** Verifications: starts that of an import, and runs one. */
import { runVerification } from '../../domain/verification/run-verification.ts';
import { verifyImported } from '../../domain/verification/start-verification.ts';
import { runVerificationJob, verifyImportJob } from '../../jobs/verification-jobs.ts';
import { defineTask } from '../task.ts';

export const verificationTasks = [
  defineTask(runVerificationJob, (ctx, { customerId, verificationId }, { abortSignal, attempt, attemptsMax }) =>
    runVerification(ctx, { customerId, id: verificationId }, { abortSignal, isLastTry: attempt >= attemptsMax }),
  ),
  defineTask(verifyImportJob, (ctx, { customerId, importId }) => verifyImported(ctx, { customerId, id: importId })),
];
