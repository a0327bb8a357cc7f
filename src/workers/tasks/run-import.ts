/** Imports of people into a list: has a plugin start one, and runs one. */
import { dispatchImport } from '../../domain/audience/imports/dispatch-import.ts';
import { runOrFailListImport } from '../../domain/audience/imports/run-list-import.ts';
import { dispatchImportJob, runImportJob } from '../../jobs/import-jobs.ts';
import { defineTask } from '../task.ts';

export const runImportTask = defineTask(runImportJob, (ctx, { customerId, importId }, { abortSignal, attempt }) =>
  runOrFailListImport(
    ctx,
    { customerId, id: importId },
    { abortSignal, isLastTry: attempt >= runImportJob.attemptsMax },
  ),
);

export const dispatchImportTask = defineTask(dispatchImportJob, (ctx, payload, { attempt }) =>
  dispatchImport(ctx, payload, { isLastTry: attempt >= dispatchImportJob.attemptsMax }),
);
