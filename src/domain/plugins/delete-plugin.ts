/**
 * Deleting a plugin, in two steps: a transaction takes its data away, if that is asked for, and makes it invisible; then its folder is
 * removed, and its row. A process that dies in between leaves the second step to the next look at the folders.
 */
import { notify } from '../../db/listen.ts';
import { recordEvents } from '../../events/event-store.ts';
import { removeFollowersOf } from '../../events/follower-store.ts';
import { ExpectedError, messageOf } from '../../lib/errors.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { endChecks, viewerOf, type Context, type TransactionContext } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { discoverPlugins, finishDeletion } from './discover-plugins.ts';
import { knownPlugin } from './find-plugin.ts';
import { dropLogin } from './own-tables.ts';
import { switchOffForAll } from './plugin-customer-store.ts';
import { deletionFailed, pluginIsActive, pluginIsBundled } from './plugin-errors.ts';
import { readOneState } from './plugin-migration-store.ts';
import { removePluginJobs } from './plugin-job-store.ts';
import { deletePackagesOf } from './plugin-package-store.ts';
import { deleteSettingsOf } from './plugin-settings-store.ts';
import { markDeleting } from './plugin-store.ts';
import { fullName, PLUGINS_CHANNEL } from './plugin.ts';
import { takeBackMigrations } from './run-migrations.ts';

export interface PluginDeletion extends PluginKey {
  /** Its tables stay, and what was applied is remembered, in case that it comes back. True unless given. */
  readonly keepData?: boolean | null | undefined;
}

/**
 * Deletes an inactive plugin. Throws NotFoundError `PLUGIN_NOT_FOUND`; WrongStateError `PLUGIN_IS_ACTIVE`, `PLUGIN_IS_BUNDLED`;
 * ValidationError `PLUGIN_DELETION_FAILED` when its data cannot be taken away: then nothing was changed.
 */
export async function deletePlugin(ctx: Context, { vendor, name, keepData }: PluginDeletion): Promise<PluginKey> {
  const key = { vendor, name };
  const isKept = keepData ?? true;
  const found = await discoverPlugins(ctx);
  const isInProduct = found.some((each) => each.isBundled && fullName(each) === fullName(key));
  try {
    await ctx.database.transaction(async (tx) => {
      await readOneState(tx);
      await deleteWithin({ ...ctx, db: tx, tx }, key, { isKept, isInProduct });
      endChecks(ctx);
    });
  } catch (error) {
    if (error instanceof ExpectedError) throw error;
    throw deletionFailed(messageOf(error));
  }
  await finishDeletion(ctx, key);
  return key;
}

async function deleteWithin(
  inner: TransactionContext,
  key: PluginKey,
  { isKept, isInProduct }: { readonly isKept: boolean; readonly isInProduct: boolean },
): Promise<void> {
  const plugin = await knownPlugin(inner, key, true);
  if (plugin.status === 'active') throw pluginIsActive();
  if (isInProduct) throw pluginIsBundled();
  if (!isKept) {
    await takeBackMigrations(inner, key);
    await deleteSettingsOf(inner.db, key);
    await dropLogin(inner, key);
  }
  await switchOffForAll(inner.db, key);
  await removePluginJobs(inner.db, key);
  await deletePackagesOf(inner.db, key);
  await removeFollowersOf(inner.db, fullName(key));
  await markDeleting(inner.db, plugin);
  await notify(inner.db, PLUGINS_CHANNEL, '');
  const data = { isDataKept: isKept };
  await recordEvents(inner.db, [{ kind: 'plugin_deleted', customerId: null, objectUid: fullName(key), data }]);
  await auditInTransaction(inner, { customerId: viewerOf(inner).customerId, targetUid: fullName(key) });
}
