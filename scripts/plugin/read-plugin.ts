/** Reads the folder of a plugin as Mailwright does, wherever it is. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { readPluginFolder, type PluginFolder } from '../../src/plugin-host/find-plugins.ts';
import { importPlugin } from '../../src/plugin-host/import-plugin.ts';
import { readMigrations } from '../../src/plugin-host/plugin-migrations.ts';
import type { Plugin } from '../../src/plugin-api/index.ts';
import { ToolError } from '../support/tool-error.ts';

export interface ReadPlugin {
  readonly fullName: string;
  readonly folder: PluginFolder;
  readonly plugin: Plugin;
}

const NAME = /^@?([^/@]+)\/([^/]+)$/;

/** Reads package.json and migrations and loads the code. Throws ToolError with what is wrong. */
export async function readPlugin(place: string): Promise<ReadPlugin> {
  const folder = path.resolve(place);
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) throw new ToolError(`There is no folder ${folder}.`);
  const names = await namesOf(folder);
  try {
    const read = await readPluginFolder(folder, { ...names, isBundled: false });
    if (read.fault !== null) throw new Error(read.fault);
    await readMigrations(read);
    return { fullName: `${names.vendor}/${names.name}`, folder: read, plugin: await importPlugin(read) };
  } catch (error) {
    throw new ToolError(
      `The plugin in ${folder} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** A folder may have any name while it is worked on: the plugin's name is that of its package.json. */
async function namesOf(folder: string): Promise<{ vendor: string; name: string }> {
  try {
    const { name: full }: { name?: unknown } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    const [, vendor, name] = NAME.exec(String(full)) ?? [];
    if (vendor !== undefined && name !== undefined) return { vendor, name };
  } catch {
    throw new ToolError(`${folder} has no package.json that can be read.`);
  }
  throw new ToolError(`"name" of ${path.join(folder, 'package.json')} must be @vendor/name.`);
}
