/** Jobs of verifications. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** Of a fault of ours, such as a database that is away; failures of a verifier pause the run and do not count here. */
const ATTEMPTS_MAX = 12;

/** Verifies people from the last position to the end. */
export const runVerificationJob = defineJob({
  name: 'verifications.run',
  payload: z.object({ customerId: id, verificationId: id }),
  attemptsMax: ATTEMPTS_MAX,
  isLong: true,
});

/** Queues the verification of what an import has added. */
export const verifyImportJob = defineJob({
  name: 'verifications.verify-import',
  payload: z.object({ customerId: id, importId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Deletes what runs of processes that died have left. */
export const sweepVerificationsJob = defineJob({
  name: 'verifications.sweep',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
