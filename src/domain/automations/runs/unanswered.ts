/** A flow waits for a plugin that has not answered: if that lasts, its owner gets a mail (`enqueueUnansweredMails`). */
import { unansweredMailJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Transaction } from '../../../db/database.ts';
import type { VersionKey } from './run.ts';

/** An upgrade of a plugin, or a restart, is shorter. */
const MAIL_SECONDS = 600;

/** One mail for all parts of the flow. */
export async function enqueueUnanswered(
  tx: Transaction,
  { customerId, automationId }: Pick<VersionKey, 'customerId' | 'automationId'>,
): Promise<void> {
  const automation = { customerId: String(customerId), automationId: String(automationId) };
  const options = { key: `${unansweredMailJob.name} ${automationId}`, delaySeconds: MAIL_SECONDS };
  await enqueue(tx, unansweredMailJob, automation, options);
}
