/** Small plugins, written into a data directory as an operator puts them there. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterFile } from './after-file.ts';

export interface PluginFiles {
  readonly version?: string;
  /** The text of index.ts. */
  readonly code?: string;
  /** Replaces package.json; null: there is none. */
  readonly manifest?: Readonly<Record<string, unknown>> | string | null;
  /** Keys of `mailwright` in package.json, such as `scopes`. Without them: the hooks that the code names, and tables if it has migrations. */
  readonly rights?: Readonly<Record<string, unknown>>;
  /** Files below database/migrations, by name. */
  readonly migrations?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

/** A data directory that is removed after the file's last test. */
export function newDataDir(): string {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-plugins-'));
  afterFile(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

/** Where a plugin is installed. */
export function folderOf(dataDir: string, plugin: string): string {
  return path.join(dataDir, 'plugins', plugin);
}

/** Writes `<data dir>/plugins/<vendor>/<name>`; what was there before is gone. */
export function writePlugin(dataDir: string, plugin: string, files: PluginFiles = {}): string {
  const { version = '1.0.0', code = plainCode(plugin), manifest, rights, migrations = {}, files: others = {} } = files;
  const folder = folderOf(dataDir, plugin);
  rmSync(folder, { recursive: true, force: true });
  const sources = [code, ...Object.values(others)];
  const asks = { hooks: hooksIn(sources), tables: Object.keys(migrations).length > 0, ...rights };
  const given = manifest === undefined ? manifestOf(plugin, version, asks) : manifest;
  const texts: Record<string, string> = { 'index.ts': code, ...others };
  if (given !== null) texts['package.json'] = typeof given === 'string' ? given : JSON.stringify(given);
  for (const [name, text] of Object.entries(migrations)) texts[`database/migrations/${name}`] = text;
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

export function manifestOf(plugin: string, version = '1.0.0', rights: object = {}): Record<string, unknown> {
  const mailwright = { contract: 1, hooks: ['sidebar-menu-items'], ...rights };
  return { name: `@${plugin}`, version, type: 'module', exports: './index.ts', mailwright };
}

/** Names of hooks for which code registers, where it names them directly. */
function hooksIn(sources: readonly string[]): string[] {
  const use = /\.(?:add|on|set|setIfEmpty|modify|fire|filter|perform|collect)\(\s*['"`]([\w./-]+)['"`]/g;
  const names = sources.flatMap((text) => [...text.matchAll(use)].map(([, hook = '']) => hook));
  return [...new Set(names)];
}

/** A plugin whose only effect is an item of the menu, with this label. */
export function plainCode(plugin: string, label = plugin): string {
  return `
    export const plugin = {
      name: '${plugin}',
      boot(hooks) {
        hooks.modify('sidebar-menu-items', (items) => [...items, { label: '${label}', href: '/' }]);
      },
    };`;
}
