/** Quiet hours, their time zone or a frequency cap were changed: what they hold back is looked at again, and does not wait for the time that was set before (D82). */
import { freeHeldMailsJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Queryable } from '../../db/database.ts';

export interface ChangedHolding {
  readonly customerId: bigint;
  /** Null: of all lists of the customer. */
  readonly listId: bigint | null;
}

/** By then, what was being held back as it was set before is held back: mostly after some seconds, of a busy process after a minute. */
const LOOKS_AFTER_SECONDS = [0, 5, 60];

/** In the transaction of the change. */
export async function enqueueHeldMails(db: Queryable, { customerId, listId }: ChangedHolding): Promise<void> {
  const payload = { customerId: String(customerId), listId: listId === null ? null : String(listId) };
  for (const delaySeconds of LOOKS_AFTER_SECONDS)
    await enqueue(db, freeHeldMailsJob, payload, {
      delaySeconds,
      key: `${freeHeldMailsJob.name} ${customerId} ${payload.listId ?? 'all'} ${delaySeconds}`,
    });
}
