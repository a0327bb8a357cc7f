/** Loads all plugins of a folder, for programs without a database of plugins: benches and tests. */
import { findPlugins } from './find-plugins.ts';
import type { HookBus } from './hook-bus.ts';
import { importPlugin } from './import-plugin.ts';

/** Loads every plugin under `folder` in the order of their names: `register` of all, then `boot` of all, then all go live together. */
export async function loadPlugins(folder: string, bus: HookBus): Promise<HookBus> {
  const folders = await findPlugins({ bundled: folder, installed: '' });
  const plugins = await Promise.all(folders.map(importPlugin));
  plugins.forEach((plugin, at) => bus.register(plugin, folders[at]?.folder));
  for (const plugin of plugins) bus.boot(plugin);
  bus.goLive(...plugins.map(({ name }) => name));
  return bus;
}
