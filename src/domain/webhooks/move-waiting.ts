/**
 * What waits to be sent follows its webhook when that is paused, switched off, deleted or led to another server: the first of it in the same
 * transaction, the rest by a job. Until then a worker that takes one sees the webhook as it is.
 */
import type { Queryable } from '../../db/database.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { moveWaitingJob } from '../../jobs/webhook-jobs.ts';
import { inTransaction, type Context } from '../context.ts';
import { moveSome } from './waiting-store.ts';
import type { WebhookKey } from './webhook.ts';

/** In the transaction of the change. */
export async function moveWaiting(tx: Queryable, key: WebhookKey): Promise<void> {
  if ((await moveSome(tx, key)) > 0) await enqueueRest(tx, key);
}

/** The job. Repeating it is harmless: it goes by what the webhook is now. */
export async function moveRest(ctx: Context, key: WebhookKey, isStopping: () => boolean): Promise<void> {
  while ((await inTransaction(ctx, ({ db }) => moveSome(db, key))) > 0)
    if (isStopping()) return enqueueRest(ctx.db, key);
}

function enqueueRest(db: Queryable, { customerId, id }: WebhookKey): Promise<void> {
  const payload = { customerId: String(customerId), webhookId: String(id) };
  return enqueue(db, moveWaitingJob, payload, { key: `${moveWaitingJob.name} ${id}` });
}
