/** Runs an import of people into a list. */
import { runOrFailListImport } from '../../domain/audience/imports/run-list-import.ts';
import { runImportJob } from '../../jobs/import-jobs.ts';
import { defineTask } from '../task.ts';

export const runImportTask = defineTask(runImportJob, (ctx, { customerId, importId }, { abortSignal, attempt }) =>
  runOrFailListImport(
    ctx,
    { customerId, id: importId },
    { abortSignal, isLastTry: attempt >= runImportJob.attemptsMax },
  ),
);
