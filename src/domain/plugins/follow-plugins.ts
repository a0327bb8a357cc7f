/**
 * Keeping a process in agreement with the table `plugin`: at the start, when a change is announced, and now and then, in case an
 * announcement was lost or a folder has come.
 */
import type { Notifications } from '../../db/listen.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { activatePlugin } from './activate-plugin.ts';
import { discoverPlugins } from './discover-plugins.ts';
import { hostOf } from './find-plugin.ts';
import { followPluginSettings } from './follow-settings.ts';
import { readCustomers } from './read-customers.ts';
import { needsNewGrant } from './grant-rights.ts';
import { giveRestoredTables } from './own-tables.ts';
import { allPlugins, markInactive } from './plugin-store.ts';
import { syncPackages } from './sync-packages.ts';
import { fullName, isOwn, PLUGIN_CUSTOMERS_CHANNEL, PLUGINS_CHANNEL, type Plugin } from './plugin.ts';
import type { FoundPlugin } from '../plugin-host.ts';

/** A folder that somebody has put there shows after this time at the latest. */
const LOOK_MS = 30_000;

export interface FollowedPlugins {
  close(): Promise<void>;
}

/** Finds all plugins, makes the active ones live in this process, and keeps it so. Nothing that a plugin does stops the start. */
export async function followPlugins(ctx: Context, notifications: Notifications): Promise<FollowedPlugins> {
  await readCustomers(ctx);
  const found = await discoverPlugins(ctx);
  await activateOwn(ctx, found);
  await giveRestoredTables(ctx);
  await followPluginsOnce(ctx);
  let isClosed = false;
  let running = Promise.resolve();
  // One after the other; whoever comes while one runs needs one more.
  const next = (work: () => Promise<unknown>): void => {
    running = running.then(async () => {
      if (!isClosed)
        await work().catch((error: unknown) => ctx.log.warn('plugins.not_followed', { message: messageOf(error) }));
    });
  };
  const stopListening = notifications.listen(PLUGINS_CHANNEL, () => next(() => followPluginsOnce(ctx)));
  const stopCustomers = notifications.listen(PLUGIN_CUSTOMERS_CHANNEL, () => next(() => readCustomers(ctx)));
  const stopSettings = followPluginSettings(ctx, notifications);
  const timer = setInterval(() => next(() => look(ctx)), LOOK_MS).unref();
  return {
    async close() {
      isClosed = true;
      stopListening();
      stopCustomers();
      stopSettings();
      clearInterval(timer);
      await running;
    },
  };
}

/** Makes this process agree with the table now. */
export async function followPluginsOnce(ctx: Context): Promise<void> {
  await syncPackages(ctx);
  await hostOf(ctx).follow(async () =>
    (await allPlugins(ctx.database)).map(({ status, ...plugin }) => ({ ...plugin, isActive: status === 'active' })),
  );
}

async function look(ctx: Context): Promise<void> {
  await readCustomers(ctx);
  await discoverPlugins(ctx);
  await followPluginsOnce(ctx);
}

/**
 * Activates the product's own plugins that never were, and active ones whose folder has another version than ran before: they may have
 * migrations. One that fails is deactivated if it was active; its row has the reason.
 */
async function activateOwn(ctx: Context, found: readonly FoundPlugin[]): Promise<void> {
  const rows = new Map((await allPlugins(ctx.database)).map((row) => [fullName(row), row]));
  for (const plugin of found) {
    const row = rows.get(fullName(plugin));
    if (row === undefined || plugin.fault !== null || !needsActivation(ctx, row, plugin)) continue;
    try {
      await activatePlugin({ ...ctx, viewer: null }, plugin);
    } catch (error) {
      ctx.log.error('plugin.not_activated', { plugin: fullName(plugin), message: messageOf(error) });
      if (row.status === 'active') await markInactive(ctx.database, row);
    }
  }
}

function needsActivation(ctx: Context, row: Plugin, found: FoundPlugin): boolean {
  if (hostOf(ctx).isSafeMode && !found.isBundled) return false;
  // A version that asks for more than was granted waits for an administrator.
  if (row.status === 'active') return row.version !== found.version && !needsNewGrant(row, found);
  return isOwn(found) && row.firstActivatedAt === null;
}
