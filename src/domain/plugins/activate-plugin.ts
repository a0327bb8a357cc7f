/**
 * Activating a plugin (specification 3.5). The pending migrations, the status and the audit row are one transaction, and the hooks of this
 * process go live as its last act: a failure at any point leaves everything as it was. The other processes are notified.
 */
import { notify } from '../../db/listen.ts';
import { recordEvents } from '../../events/event-store.ts';
import { beginFollowers } from '../../events/follower-store.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { requireRecentLogin } from '../accounts/require-recent-login.ts';
import { endChecks, type Context, type TransactionContext } from '../context.ts';
import type { PluginRights } from '../../plugin-api/index.ts';
import type { FoundPlugin, PluginKey, PluginMigrationFile } from '../plugin-host.ts';
import { discoverPlugins } from './discover-plugins.ts';
import { faultOf, hostOf, knownPlugin } from './find-plugin.ts';
import { grantRights, type Agreement } from './grant-rights.ts';
import { activationFailed, onlyPeopleGrant } from './plugin-errors.ts';
import { readOneState } from './plugin-migration-store.ts';
import { packageAt, placePackage, type KeptPackage } from './plugin-package-store.ts';
import { syncPackages } from './sync-packages.ts';
import { pluginFollowers } from './plugin-followers.ts';
import { giveTables } from './own-tables.ts';
import { markActive, writeActivationError } from './plugin-store.ts';
import { fullName, PLUGINS_CHANNEL, type Plugin } from './plugin.ts';
import { refusePrefixClash, runPendingMigrations } from './run-migrations.ts';
import { ExpectedError, messageOf } from '../../lib/errors.ts';

/** Reasons that are kept. */
const REASON_LENGTH_MAX = 1_000;

/** What is activated, and what the administrator agrees to. */
export type PluginActivation = PluginKey & Agreement;

/**
 * Activates the plugin as its folder is now, or the installed version that waits (or the former one); repeating it is harmless. Throws
 * NotFoundError `PLUGIN_NOT_FOUND`; ValidationError `PLUGIN_GRANT_NEEDED` when it asks for more than was granted and is agreed to,
 * `PLUGIN_ACTIVATION_FAILED` with the reason, which is kept with the plugin; ForbiddenError `LOGIN_TOO_OLD`.
 */
export async function activatePlugin(
  ctx: Context,
  { vendor, name, ...agreement }: PluginActivation,
  from: 'waiting' | 'former' = 'waiting',
): Promise<Plugin> {
  const key = { vendor, name };
  if (ctx.viewer?.plugin !== undefined) throw onlyPeopleGrant();
  // Also called at the start, by nobody.
  if (ctx.viewer) await requireRecentLogin(ctx);
  // The folder may have come, or changed, since the last look.
  await discoverPlugins(ctx);
  const plugin = await knownPlugin(ctx, key);
  endChecks(ctx);
  const next = await packageAt(ctx.database, key, from);
  try {
    if (next) await hostOf(ctx).preview(key, next);
    const found = usable(ctx, key);
    const granted = grantRights(plugin, found, agreement);
    const files = await hostOf(ctx).migrationsOf(found);
    await hostOf(ctx).activate(found, (goLive) => activate(ctx, { found, files, next, from, granted, goLive }));
  } catch (error) {
    if (error instanceof ExpectedError) throw error;
    const reason = messageOf(error).slice(0, REASON_LENGTH_MAX);
    await writeActivationError(ctx.database, key, reason);
    ctx.log.warn('plugin.not_activated', { plugin: fullName(key), message: reason });
    throw activationFailed(reason);
  } finally {
    if (next) await endPreview(ctx, key);
  }
  return knownPlugin(ctx, key);
}

/** The link leads to the current version, whichever that is now. */
async function endPreview(ctx: Context, key: PluginKey): Promise<void> {
  await syncPackages(ctx);
  await hostOf(ctx).preview(key, undefined);
}
const NO_TABLES =
  'It has migrations, but its manifest does not ask for tables: add "tables": true to "mailwright" in package.json.';

function usable(ctx: Context, key: PluginKey): FoundPlugin {
  const fault = faultOf(ctx, key);
  const found = hostOf(ctx).found(key);
  if (fault !== null || !found) throw new Error(fault ?? '');
  return found;
}

interface Activation {
  readonly found: FoundPlugin;
  readonly files: readonly PluginMigrationFile[];
  /** The installed version that becomes the current one; undefined: it stays. */
  readonly next: KeptPackage | undefined;
  readonly from: 'waiting' | 'former';
  readonly granted: PluginRights;
  readonly goLive: () => void;
}

function activate(ctx: Context, activation: Activation): Promise<void> {
  return ctx.database.transaction(async (tx) => {
    await readOneState(tx);
    return activateWithin({ ...ctx, db: tx, tx }, activation);
  });
}

async function activateWithin(inner: TransactionContext, activation: Activation): Promise<void> {
  const { found, files, next, from, granted, goLive } = activation;
  const plugin = await knownPlugin(inner, found, true);
  // What took its place has also taken its archive away.
  if ((await packageAt(inner.db, found, from))?.id !== next?.id)
    throw new Error('Another version of it was installed meanwhile. Activate it again.');
  const isFirst = plugin.firstActivatedAt === null;
  if (isFirst && (!found.isBundled || files.length > 0)) await refusePrefixClash(inner, found);
  if (files.length > 0 && !found.wants.tables) throw new Error(NO_TABLES);
  await runPendingMigrations(inner, found, files);
  if (found.wants.tables) await giveTables(inner, found);
  await markActive(inner.db, plugin, { version: found.version, folder: found.folder, granted });
  if (next) await placePackage(inner.db, next, { place: 'current', displaced: 'former' });
  await notify(inner.db, PLUGINS_CHANNEL, '');
  const { viewer } = inner;
  if (viewer) await auditInTransaction(inner, { customerId: viewer.customerId, targetUid: fullName(found) });
  const data = { version: found.version, isFirst };
  await recordEvents(inner.db, [{ kind: 'plugin_activated', customerId: null, objectUid: fullName(found), data }]);
  goLive();
  // From the activation on no event is missed. A failure takes everything back.
  await beginFollowers(inner.db, pluginFollowers(inner, fullName(found)));
}
