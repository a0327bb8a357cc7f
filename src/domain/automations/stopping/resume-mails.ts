/**
 * A flow goes on: its mails that were held back meanwhile go as was chosen for what is late (D85), and not when they are looked at next, which
 * may be an hour later.
 */
import { resumeMailsJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { FIRST_PLACE, releaseMails, type QueuePlace } from '../../delivery/flow-mails/resumed-mail-store.ts';
import { heldMails, type LateChoice } from './held-mails.ts';
import type { Queryable } from '../../../db/database.ts';
import { inTransaction, type Context } from '../../context.ts';

/** One transaction of some 100 ms. */
const MAILS_AT_ONCE = 1_000;
/** By then, what was being held back at that moment is back in the queue. */
const AGAIN_SECONDS = 60;

interface FlowKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

interface Resumed extends FlowKey {
  readonly choice?: LateChoice | undefined;
}

/** In the transaction that activates the flow. */
export async function enqueueResumedMails(db: Queryable, { customerId, automationId, choice }: Resumed): Promise<void> {
  const payload = { customerId: String(customerId), automationId: String(automationId), choice };
  for (const delaySeconds of [0, AGAIN_SECONDS])
    await enqueue(db, resumeMailsJob, payload, {
      delaySeconds,
      key: `${resumeMailsJob.name} ${automationId} ${delaySeconds}`,
    });
}

/** The job. Repeating it is harmless: what was released, or is under way, stays as it is. */
export async function resumeMails(ctx: Context, given: Resumed, isStopping: () => boolean): Promise<void> {
  const { choice, ...key } = given;
  const held = await heldMails(ctx.db, key, choice);
  let done = 0;
  let after: QueuePlace | undefined = FIRST_PLACE;
  while (after) {
    if (isStopping()) return enqueueResumedMails(ctx.db, given);
    const place: QueuePlace = after;
    const slice = { held: held.mode === 'spread' ? { ...held, done } : held, after: place, max: MAILS_AT_ONCE };
    const { last, released } = await inTransaction(ctx, ({ tx }) => releaseMails(tx, key, slice));
    done += released;
    after = last;
  }
}
