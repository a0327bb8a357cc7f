/** A flow goes on: its mails that were held back meanwhile go at once, and not when they are looked at next, which may be an hour later. */
import { resumeMailsJob } from '../../jobs/automation-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { FIRST_PLACE, releaseMails, type QueuePlace } from '../delivery/resumed-mail-store.ts';
import type { Queryable } from '../../db/database.ts';
import { inTransaction, type Context } from '../context.ts';

/** One transaction of some 100 ms. */
const MAILS_AT_ONCE = 1_000;
/** By then, what was being held back at that moment is back in the queue. */
const AGAIN_SECONDS = 60;

interface FlowKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

/** In the transaction that activates the flow. */
export async function enqueueResumedMails(db: Queryable, { customerId, automationId }: FlowKey): Promise<void> {
  const key = { customerId: String(customerId), automationId: String(automationId) };
  for (const delaySeconds of [0, AGAIN_SECONDS])
    await enqueue(db, resumeMailsJob, key, {
      delaySeconds,
      key: `${resumeMailsJob.name} ${automationId} ${delaySeconds}`,
    });
}

/** The job. Repeating it is harmless: what was released, or is under way, stays as it is. */
export async function resumeMails(ctx: Context, key: FlowKey, isStopping: () => boolean): Promise<void> {
  let after: QueuePlace | undefined = FIRST_PLACE;
  while (after) {
    if (isStopping()) return enqueueResumedMails(ctx.db, key);
    const place: QueuePlace = after;
    after = await inTransaction(ctx, ({ tx }) => releaseMails(tx, key, { after: place, max: MAILS_AT_ONCE }));
  }
}
