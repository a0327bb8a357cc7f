/** Loads all plugins of a folder, for programs without a database of plugins: benches and tests. */
import { NO_RIGHTS } from '../plugin-api/index.ts';
import { findPlugins } from './find-plugins.ts';
import type { HookBus } from './hook-bus.ts';
import { importPlugin } from './import-plugin.ts';

/** Loads every plugin under `folder` in the order of their names: `register` of all, then `boot` of all, then all go live together. */
export async function loadPlugins(folder: string, bus: HookBus): Promise<HookBus> {
  const folders = await findPlugins({ bundled: folder, installed: '' });
  const found = await Promise.all(folders.map(async (it) => ({ ...it, plugin: await importPlugin(it) })));
  for (const { plugin, folder: place, manifest } of found)
    bus.register(plugin, { folder: place, rights: manifest?.wants ?? NO_RIGHTS });
  for (const { plugin } of found) bus.boot(plugin);
  bus.goLive(...found.map(({ plugin }) => plugin.name));
  return bus;
}
