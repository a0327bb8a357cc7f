/** Job `audience.remove-field-values`: removes the values of a removed field. */
import { removeFieldValues } from '../../domain/audience/remove-field-values.ts';
import { removeFieldValuesJob } from '../../jobs/audience-jobs.ts';
import { defineTask } from '../task.ts';

export const removeFieldValuesTask = defineTask(removeFieldValuesJob, (ctx, removal, { abortSignal }) =>
  removeFieldValues(ctx, removal, abortSignal),
);
