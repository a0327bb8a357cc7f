/** Reading plugins. */
import type { Context } from '../context.ts';
import type { PluginHost, PluginKey } from '../plugin-host.ts';
import { assert } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { pluginNotFound } from './plugin-errors.ts';
import { allPlugins, findPluginRow } from './plugin-store.ts';
import { pluginKeyInput, type Plugin } from './plugin.ts';

/** All plugins, by vendor and name. */
export async function plugins({ db }: Context): Promise<readonly Plugin[]> {
  return (await allPlugins(db)).filter(({ status }) => status !== 'deleting');
}

/** Throws ValidationError; NotFoundError `PLUGIN_NOT_FOUND`. */
export async function knownPlugin({ db }: Pick<Context, 'db'>, key: PluginKey, lock = false): Promise<Plugin> {
  const plugin = await findPluginRow(db, parseInput(pluginKeyInput, key), lock);
  if (!plugin) throw pluginNotFound();
  return plugin;
}

/** Why the plugin cannot be used in this process, in a sentence; null: it can. */
export function faultOf(ctx: Context, key: PluginKey): string | null {
  const found = hostOf(ctx).found(key);
  return found ? found.fault : 'Its folder is not there.';
}

/** The host of this process; tools that have none do nothing with plugins. */
export function hostOf({ plugins: host }: Context): PluginHost {
  assert(host, 'this process has a plugin host');
  return host;
}
