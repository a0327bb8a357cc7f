/** Reading packages, cancelling one that is under way, and going back to the version before. */
import { notify } from '../../db/listen.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { requireRecentLogin } from '../accounts/require-recent-login.ts';
import { endChecks, inTransaction, viewerOf, type Context } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { activatePlugin } from './activate-plugin.ts';
import { discoverPlugins } from './discover-plugins.ts';
import { knownPlugin } from './find-plugin.ts';
import { noFormerVersion, packageEnded } from './plugin-errors.ts';
import {
  allPackages,
  endPackage,
  findPackage,
  packageAt,
  placePackage,
  sweepPackages,
} from './plugin-package-store.ts';
import type { PluginPackage } from './plugin-package.ts';
import { fullName, PLUGINS_CHANNEL, type Plugin } from './plugin.ts';

/** All packages of the last time, the latest first. */
export async function pluginPackages(ctx: Context): Promise<readonly PluginPackage[]> {
  await sweepPackages(ctx.database);
  return allPackages(ctx.db);
}

/** Throws NotFoundError `PLUGIN_PACKAGE_NOT_FOUND`. */
export async function pluginPackage(ctx: Context, { uid }: { readonly uid: string }): Promise<PluginPackage> {
  await sweepPackages(ctx.database);
  return findPackage(ctx.db, uid);
}

/** Cancels an upload, a download or a check; whoever does it notices in half a second. Throws WrongStateError `PLUGIN_PACKAGE_ENDED`. */
export async function cancelPluginPackage(ctx: Context, { uid }: { readonly uid: string }): Promise<PluginPackage> {
  return inTransaction(ctx, async ({ tx }) => {
    const made = await findPackage(tx, uid, true);
    if (!(await endPackage(tx, made, { state: 'cancelled', reason: null }))) throw packageEnded();
    return findPackage(tx, uid);
  });
}

/**
 * Goes back to the version that was used before; an active plugin is activated with it. Migrations of the newer version are not taken back.
 * Throws WrongStateError `PLUGIN_HAS_NO_FORMER_VERSION`, and what activating throws.
 */
export async function rollBackPlugin(ctx: Context, key: PluginKey): Promise<Plugin> {
  const plugin = await knownPlugin(ctx, key);
  if (!(await packageAt(ctx.database, key, 'former'))) throw noFormerVersion();
  if (plugin.status === 'active') return activatePlugin(ctx, key, 'former');
  await requireRecentLogin(ctx);
  endChecks(ctx);
  await inTransaction(ctx, async (inner) => {
    const former = await packageAt(inner.db, await knownPlugin(inner, key, true), 'former');
    if (!former) throw noFormerVersion();
    await placePackage(inner.db, former, { place: 'current', displaced: 'former' });
    await notify(inner.db, PLUGINS_CHANNEL, '');
    await auditInTransaction(inner, { customerId: viewerOf(inner).customerId, targetUid: fullName(key) });
  });
  await discoverPlugins(ctx);
  return knownPlugin(ctx, key);
}
