/** A flow waits for a plugin that has not answered: if that lasts, its owner gets a mail (`enqueueUnansweredMails`). */
import { unansweredMailJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { Transaction } from '../../../db/database.ts';
import { secondsUnanswered } from './count-read-model.ts';
import type { AutomationKey } from './seen-run.ts';

/** An upgrade of a plugin, or a restart, is shorter. */
const MAIL_SECONDS = 600;

/** One mail for all parts of the flow, by the one that has waited for longest: others that begin to wait later do not put it off. */
export async function enqueueUnanswered(tx: Transaction, key: AutomationKey): Promise<void> {
  const { customerId, automationId } = key;
  const automation = { customerId: String(customerId), automationId: String(automationId) };
  const delaySeconds = Math.max(0, MAIL_SECONDS - (await secondsUnanswered(tx, key)));
  const options = { key: `${unansweredMailJob.name} ${automationId}`, delaySeconds };
  await enqueue(tx, unansweredMailJob, automation, options);
}
