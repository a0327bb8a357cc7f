/** Enqueues the job of a verification, which exists once for each. */
import type { Queryable } from '../../db/database.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { runVerificationJob } from '../../jobs/verification-jobs.ts';
import type { Verification } from './verification.ts';

export async function enqueueVerification(
  db: Queryable,
  { customerId, id, uid }: Pick<Verification, 'customerId' | 'id' | 'uid'>,
  delaySeconds?: number,
): Promise<void> {
  const payload = { customerId: String(customerId), verificationId: String(id) };
  const later = delaySeconds === undefined ? {} : { delaySeconds };
  await enqueue(db, runVerificationJob, payload, { key: `verification:${uid}`, ...later });
}
