/** Finds the bundled plugins (`plugins/<vendor>/<name>/index.ts`) and registers them on the bus. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from '../plugin-api/index.ts';
import type { HookBus } from './hook-bus.ts';

/** Loads every plugin under `folder` in the order of their names: `register` of all, then `boot` of all, then all go live together. */
export async function loadPlugins(folder: string, bus: HookBus): Promise<HookBus> {
  const plugins = await Promise.all((await pluginEntries(folder)).map(importPlugin));
  for (const plugin of plugins) bus.register(plugin);
  for (const plugin of plugins) bus.boot(plugin);
  bus.goLive(...plugins.map(({ name }) => name));
  return bus;
}

async function pluginEntries(folder: string): Promise<string[]> {
  const entries: string[] = [];
  for (const vendor of await foldersIn(folder)) {
    for (const name of await foldersIn(path.join(folder, vendor))) {
      const entry = path.join(folder, vendor, name, 'index.ts');
      if (existsSync(entry)) entries.push(entry);
    }
  }
  return entries;
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

async function importPlugin(entry: string): Promise<Plugin> {
  const module: unknown = await import(pathToFileURL(entry).href);
  if (typeof module === 'object' && module !== null && 'plugin' in module && isPlugin(module.plugin))
    return module.plugin;
  throw new Error(`${entry} does not export "plugin" made by definePlugin.`);
}

function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}
