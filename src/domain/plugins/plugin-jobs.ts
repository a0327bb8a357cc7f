/** What administrators do with the jobs of a plugin. */
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { knownPlugin } from './find-plugin.ts';
import { pluginJobStates, type PluginJobState } from './plugin-job-read-model.ts';
import { deleteOldGivenUpJobs, retryGivenUpJobs } from './plugin-job-store.ts';
import { fullName } from './plugin.ts';
import { PLUGINS_FLAG } from '../../jobs/plugin-work-jobs.ts';

/** Those that wait, run, or were given up; at most 200. Throws NotFoundError `PLUGIN_NOT_FOUND`. */
export async function pluginJobsOf(ctx: Context, key: PluginKey): Promise<readonly PluginJobState[]> {
  await knownPlugin(ctx, key);
  return pluginJobStates(ctx.db, key);
}

/** Gives all its tries back to what was given up; answers how many. Throws NotFoundError `PLUGIN_NOT_FOUND`. */
export async function retryPluginJobs(ctx: Context, key: PluginKey): Promise<{ readonly count: number }> {
  const { customerId } = viewerOf(ctx);
  return inTransaction(ctx, async (inner) => {
    await knownPlugin(inner, key);
    const count = await retryGivenUpJobs(inner.db, key);
    await auditInTransaction(inner, { customerId, targetUid: fullName(key) });
    return { count };
  });
}

/** Deletes what was given up a month ago. */
export async function sweepPluginJobs({ db }: Context): Promise<void> {
  await deleteOldGivenUpJobs(db, PLUGINS_FLAG);
}
