/**
 * Imports the code of a plugin. Files are imported under addresses with the folder's fingerprint, so that changed files are loaded again
 * without a restart; Node never unloads the earlier ones. `mailwright/plugin-api` is this program's contract, wherever the plugin is.
 */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Plugin } from '../plugin-api/index.ts';
import type { PluginFolder } from './find-plugins.ts';
import { asPlugin } from './running-plugin.ts';

/** An import that waits for something for ever must not stop the start. */
const IMPORT_MS_MAX = 10_000;
const FINGERPRINT = 'plugin-files';
const CONTRACT = 'mailwright/plugin-api';
const CONTRACT_URL = new URL('../plugin-api/index.ts', import.meta.url).href;

/** Imports its entry and returns the plugin that it exports. Throws an Error with a sentence. */
export async function importPlugin({
  vendor,
  name,
  folder,
  manifest,
  fingerprint,
  isBundled,
}: PluginFolder): Promise<Plugin> {
  if (!manifest) throw new Error('It has no package.json that can be used.');
  resolveForPlugins();
  const url = pathToFileURL(path.join(folder, manifest.entry));
  if (!isBundled) url.searchParams.set(FINGERPRINT, fingerprint);
  const full = `${vendor}/${name}`;
  const plugin = await withinTime(asPlugin(full, () => import(url.href))).catch((error: unknown) => {
    throw withPlace(error, folder);
  });
  if (plugin.name !== full)
    throw new Error(`The plugin of ${manifest.entry} is named "${plugin.name}"; it must be "${full}".`);
  return plugin;
}

/** Node says in the stack only in which file and line a syntax error is. */
const SYNTAX_PLACE = /^(?:file:\/\/)?(\/[^\n?]+)(?:\?[^\n:]*)?:(\d+)\n/;

function withPlace(error: unknown, folder: string): unknown {
  if (!(error instanceof SyntaxError)) return error;
  const [, file, line] = SYNTAX_PLACE.exec(error.stack ?? '') ?? [];
  if (file === undefined || line === undefined) return error;
  return new Error(`${path.relative(folder, file)}, line ${line}: ${error.message}`, { cause: error });
}

async function withinTime(importing: Promise<unknown>): Promise<Plugin> {
  const late = new AbortController();
  const timeUp = sleep(IMPORT_MS_MAX, undefined, { signal: late.signal }).then(() => {
    throw new Error(`Loading its code took longer than ${IMPORT_MS_MAX / 1_000} seconds.`);
  });
  timeUp.catch(() => undefined);
  try {
    const module = await Promise.race([importing, timeUp]);
    if (typeof module === 'object' && module !== null && 'plugin' in module && isPlugin(module.plugin))
      return module.plugin;
    throw new Error('Its entry does not export "plugin" made by definePlugin.');
  } finally {
    late.abort();
  }
}

function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}

let isResolving = false;

function resolveForPlugins(): void {
  if (isResolving) return;
  isResolving = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === CONTRACT) return { url: CONTRACT_URL, shortCircuit: true };
      const fingerprint = context.parentURL && new URL(context.parentURL).searchParams.get(FINGERPRINT);
      if (!fingerprint) return next(specifier, context);
      const resolved = next(specifier, context);
      if (!specifier.startsWith('.') || !resolved.url.startsWith('file:')) return resolved;
      const url = new URL(resolved.url);
      url.searchParams.set(FINGERPRINT, fingerprint);
      return { ...resolved, url: url.href };
    },
  });
}
