/** Deletes unfinished uploads. */
import { dropAbandonedUploads } from '../../domain/files/drop-abandoned-uploads.ts';
import { dropAbandonedUploadsJob } from '../../jobs/file-jobs.ts';
import { defineTask } from '../task.ts';

export const dropAbandonedUploadsTask = defineTask(dropAbandonedUploadsJob, dropAbandonedUploads);
