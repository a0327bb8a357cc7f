/** Runs an import; trouble that outlasts all tries ends it as failed. */
import { failListImport, runListImport } from '../../domain/audience/imports/run-list-import.ts';
import { runImportJob } from '../../jobs/import-jobs.ts';
import { defineTask } from '../task.ts';

/** The user who uploaded the file cannot repair this; the log of the job says more. */
const STOPPED = 'The import failed. People who were added so far are on the list; import the file again for the rest.';

export const runImportTask = defineTask(
  runImportJob,
  async (ctx, { customerId, importId }, { abortSignal, attempt }) => {
    const key = { customerId, id: importId };
    try {
      await runListImport(ctx, key, abortSignal);
    } catch (error) {
      if (attempt >= runImportJob.attemptsMax) await failListImport(ctx, key, STOPPED);
      throw error;
    }
  },
);
