/** The job after a field was removed: removes its values from the list's people, slice by slice, each in its own transaction. */
import { removeFieldValuesJob } from '../../jobs/audience-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import type { Context } from '../context.ts';
import { endRemoval, removeNextValues, type FieldRemoval } from './field-removal-store.ts';

/** Some tens of milliseconds each: nobody waits long for a person's row. */
const PEOPLE_AT_ONCE = 5_000;

/** Removes all values, or as many as it can until `abortSignal` fires: then another job continues. Repeating it is harmless. */
export async function removeFieldValues(ctx: Context, removal: FieldRemoval, abortSignal: AbortSignal): Promise<void> {
  for (let areMore: boolean | undefined = true; areMore;) {
    if (abortSignal.aborted) return goOnLater(ctx, removal);
    areMore = await ctx.database.transaction((tx) => removeNextValues(tx, removal, PEOPLE_AT_ONCE));
  }
  await endRemoval(ctx.db, removal);
}

async function goOnLater(ctx: Context, { customerId, listId, tag }: FieldRemoval): Promise<void> {
  await enqueue(ctx.db, removeFieldValuesJob, { customerId: String(customerId), listId: String(listId), tag });
}
