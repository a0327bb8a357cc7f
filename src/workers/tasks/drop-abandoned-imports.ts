/** Drops uploads that nobody finished. */
import { dropAbandonedImports } from '../../domain/audience/imports/drop-abandoned-imports.ts';
import { dropAbandonedImportsJob } from '../../jobs/import-jobs.ts';
import { defineTask } from '../task.ts';

export const dropAbandonedImportsTask = defineTask(dropAbandonedImportsJob, async (ctx) => {
  const dropped = await dropAbandonedImports(ctx);
  if (dropped > 0) ctx.log.info('imports.dropped', { imports: dropped });
});
