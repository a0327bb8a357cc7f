/** Job `audience.erase-person`: erases a person's traces in mails and clicks. */
import { eraseTraces } from '../../domain/audience/erasing/erase-traces.ts';
import { erasePersonJob } from '../../jobs/audience-jobs.ts';
import { defineTask } from '../task.ts';

export const erasePersonTask = defineTask(erasePersonJob, (ctx, { customerId, erasureId }) =>
  eraseTraces(ctx, { customerId, id: erasureId }),
);
