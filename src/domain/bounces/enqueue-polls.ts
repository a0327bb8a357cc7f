/** The scheduled part: a job for each due mailbox, at most one per mailbox. */
import { pollBounceHandlerJob } from '../../jobs/bounce-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Context } from '../context.ts';
import { dueHandlers } from './bounce-handler-store.ts';

export async function enqueuePolls({ db }: Pick<Context, 'db'>): Promise<void> {
  for (const { customerId, id } of await dueHandlers(db)) {
    const payload = { customerId: String(customerId), handlerId: String(id) };
    await enqueue(db, pollBounceHandlerJob, payload, { key: `bounces.poll:${id}` });
  }
}
