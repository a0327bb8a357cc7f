/** Job `audience.erase-person`: what mails and clicks have left behind of somebody. */
import { eraseTraces } from '../../domain/audience/erasing/erase-traces.ts';
import { erasePersonJob } from '../../jobs/audience-jobs.ts';
import { defineTask } from '../task.ts';

export const erasePersonTask = defineTask(erasePersonJob, (ctx, { customerId, erasureId }) =>
  eraseTraces(ctx, { customerId, id: erasureId }),
);
