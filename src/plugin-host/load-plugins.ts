/** Loads the product's own plugins, for programs without a database of plugins: benches and tests. */
import { NO_RIGHTS } from '../plugin-api/index.ts';
import { findPlugins } from './find-plugins.ts';
import type { HookBus } from './hook-bus.ts';
import { importPlugin } from './import-plugin.ts';
import { OWN_VENDOR } from './plugin-manifest.ts';

/**
 * Loads every plugin of the vendor `mailwright` under `folder`, as a first start activates them, in the order of their names: `register`
 * of all, then `boot` of all, then all go live together.
 */
export async function loadPlugins(folder: string, bus: HookBus): Promise<HookBus> {
  const folders = await findPlugins({ bundled: folder, installed: '' });
  const own = folders.filter(({ vendor }) => vendor === OWN_VENDOR);
  const found = await Promise.all(own.map(async (it) => ({ ...it, plugin: await importPlugin(it) })));
  for (const { plugin, folder: place, manifest } of found)
    bus.register(plugin, { folder: place, rights: manifest?.wants ?? NO_RIGHTS });
  for (const { plugin } of found) bus.boot(plugin);
  bus.goLive(...found.map(({ plugin }) => plugin.name));
  return bus;
}
