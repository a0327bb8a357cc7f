/** Deletes unfinished uploads of imports. */
import { dropAbandonedImports } from '../../domain/audience/imports/drop-abandoned-imports.ts';
import { dropAbandonedImportsJob } from '../../jobs/import-jobs.ts';
import { defineTask } from '../task.ts';

export const dropAbandonedImportsTask = defineTask(dropAbandonedImportsJob, dropAbandonedImports);
